// A CUDA device as a row of the table of devices: kernels of ours where there is one, CuPy for the rest.
#pragma once
#include <memory>

#include "cuda_device.h"
#include "cuda_timeline.h"
#include "device.h"
#include "kernels/optimizer.h"

namespace perflab::cuda {

class Gpu final : public Device {
 public:
  explicit Gpu(int index);
  int index() const { return index_; }  // the driver's count
  unsigned multiprocessors() const { return multiprocessors_; }

  void launch(const Op&, DType computed, In in, int nin, const Attrs&, Array* out, int nout) override;
  void copy(const Array& from, Array& to, bool non_blocking) override;
  void call(const char* name, std::vector<Array> arrays, int64_t flops, Function) override;
  void wait(Stream waiting, Stream other) override;
  void synchronize() override;
  void* map_pinned(size_t bytes) noexcept override;
  void unmap_pinned(void* memory, size_t bytes) noexcept override;
  int stream_number(Stream s) override { return cuda::stream_number(index_, s); }
  bool update(const ParameterLists&, const UpdateOptions&) override;
  bool fill(const Array&, const RandomFill&) override;

  void synchronize(Stream);
  void settle();  // waits, and records what is done by then; does not throw what failed
  // For arrangements: a kernel on the current stream. send: a thread for each piece of work, or fewer that take turns;
  // send_blocks: a block for each, with threads for what a block has to do.
  void send(uintptr_t function, int64_t work, const void* parameters);
  void send_blocks(uintptr_t function, int64_t blocks, int64_t each, const void* parameters);
  void clear(const Array&);  // zeros; contiguous
  int* wrong() { return wrong_; }

 private:
  uintptr_t kernel(const std::string& name, DType computed);
  bool launch_own(const Op&, DType computed, In in, int nin, const Attrs&, Array* out);
  bool copy_strided(const Array& from, const Array& to);
  bool concat(In in, int nin, const Attrs&, const Array& out);
  void check_indices();

  Event labelled(uint32_t name, int flags, uint64_t bytes = 0, uint32_t shapes = 0);  // work on the current stream

  const int index_;
  unsigned multiprocessors_;
  // Pinned memory, which kernels set: where an index was out of range, where a gradient was infinite or NaN.
  int *wrong_, *found_;
  Timeline timeline_;
  struct Kernels;
  const std::unique_ptr<Kernels> kernels_;
};

// The device of this index, made when it is asked for first. Call it with the GIL.
Gpu& gpu(int index);
void settle_all();  // those that were made

// Set by the Python side: the function of the kernel of that name (runtime/cuda/sources.py); 0: there is none.
extern uintptr_t (*build_kernel)(int index, const std::string& name);

// For CuPy's allocator: memory of the current stream from the device's own.
void* allocate_for_cupy(void*, size_t bytes, int index);
void deallocate_for_cupy(void*, void* memory, int index);

}  // namespace perflab::cuda
