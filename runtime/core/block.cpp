#include "block.h"

namespace perflab {

Block::Block() {
  BlocksBySize maker;
  node = maker.extract(maker.insert(this).first);
}

void Block::put_after(Block* before) noexcept {
  prev = before, next = before->next;
  if (next) next->prev = this;
  before->next = this;
}

void Block::absorb_next() noexcept {
  bytes += next->bytes;
  next = next->next;
  if (next) next->prev = this;
}

void FreeBlocks::insert(Block* b) noexcept {
  if (b->mapped)
    mapped.insert(std::move(b->node));
  else
    unmapped.insert(std::move(b->node));
  b->free_since = searches;
}

void FreeBlocks::erase(Block* b) noexcept { b->node = b->mapped ? mapped.extract(b) : unmapped.extract(b); }

}  // namespace perflab
