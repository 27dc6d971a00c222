#include "block.h"

#include <algorithm>
#include <bit>

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

void Block::renew() noexcept {
  prev = next = nullptr;
  used = false, mapped = true;
  asked = 0, owner = {};
}

void BlocksInUse::reserve_one() {
  if (size_ < heads_.size()) return;
  std::vector<Block*> blocks;
  blocks.reserve(size_);
  for (Block* head : heads_)
    for (Block* b = head; b; b = b->next_in_use) blocks.push_back(b);
  heads_ = std::vector<Block*>(std::max<size_t>(64, 2 * heads_.size()));
  shift_ = 65 - std::bit_width(heads_.size());
  size_ = 0;
  for (Block* b : blocks) insert(b);
}

void BlocksInUse::insert(Block* b) noexcept {
  Block** head = place(b->address);
  b->next_in_use = *head, *head = b, ++size_;
}

void BlocksInUse::erase(Block* b) noexcept {
  Block** at = place(b->address);
  while (*at != b) at = &(*at)->next_in_use;
  *at = b->next_in_use, --size_;
}

Block* BlocksInUse::find(const void* address) {
  if (heads_.empty()) return nullptr;
  Block* b = *place(address);
  while (b && b->address != address) b = b->next_in_use;
  return b;
}

void FreeBlocks::insert(Block* b) noexcept {
  if (b->mapped)
    b->place = mapped.insert(std::move(b->node)).position;
  else
    unmapped.insert(std::move(b->node));
  b->free_since = searches;
}

void FreeBlocks::erase(Block* b) noexcept { b->node = b->mapped ? mapped.extract(b->place) : unmapped.extract(b); }

}  // namespace perflab
