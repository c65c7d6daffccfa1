//===- ShippedDevices.cpp - The device tables that come with llmmem ---------===//
//
// Form and units: include/llmmem/Device/DeviceModel.h. Numbers are those of the vendors'
// datasheets unless `source` says otherwise; a card is added by a table here.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Device/DeviceModel.h"

using namespace llvm;
using namespace llmmem;

// Dense rates and bandwidths of the vendors' datasheets (SXM parts), which say nothing of launches:
// two microseconds inside a captured graph are assumed. `cpu` is two cores with AVX-512 as this
// project measures itself on. Workspaces of matmuls are those that NVIDIA recommends for cuBLAS
// (its manual, on cublasSetWorkspace): 32 MiB on Hopper, 4 MiB on the architectures before.
// Datasheets give both directions of a link together, tables one; they say nothing of latencies:
// two microseconds from device to device are assumed, ten for a copy to or from the host. Where two
// papers of a vendor differ (b200 in f32 and f64), a table has the larger number: times of
// datasheets are said to be bounds. Those of l40s, a6000, l4, b200 and Apple's chips were compared
// with reprints of the vendors' tables. The others were counted again, units by FLOPs a clock by
// the clock: rtx3090 has 82 multiprocessors at 1.695 GHz, a10g 80 at 1.71 (as its users report),
// each of 256 FLOPs in f32 and 512 in bf16 summed in f32; mi300x 304 units at 2.1 GHz, each of 256
// and 2048. Capacities are the GB of datasheets as 10^9 bytes, which is less than devices report: a
// plan that fits here fits there. Where error correction takes its share of the card (l4, a10g,
// l40s) it is what programs see there, as users report it, rounded down. The reserve is assumed: a
// CUDA context, its modules and a library of matmuls take a few hundred megabytes. Apple's GPUs
// share the memory of the machine; a quarter of it is left to the system, as macOS does, and f64 is
// emulated. What a host moves for updates that run there is assumed, and on the safe side: half of
// what the memory of the usual server or desktop could, by channels and clock, in equal shares for
// its devices.
static constexpr StringLiteral tables[] = {
    R"({"name": "h100", "source": "NVIDIA H100 SXM datasheet, not measured",
        "memory_bytes": 80000000000, "reserve_bytes": 1000000000,
        "flops_per_ns": {"bf16": 989000, "f32": 67000, "f64": 34000}, "bytes_per_ns": 3350, "launch_ns": 2000,
        "library_workspace_bytes": 33554432, "pcie": 5,
        "host": {"bytes_per_ns": 38, "source": "assumed: half of 16 channels of DDR5-4800, shared by 8 devices"},
        "links": [
          {"name": "nvlink", "to": "device", "up_bytes_per_ns": 450, "down_bytes_per_ns": 450, "latency_ns": 2000,
           "source": "datasheet: 900 GB/s both ways; latency assumed"}]})",
    R"({"name": "h200", "source": "kinds of kernels measured on an NVIDIA H200 on 2026-11-26 (docs/Measured), rates of its datasheet",
        "memory_bytes": 141000000000, "reserve_bytes": 1000000000,
        "flops_per_ns": {"bf16": 989000, "f32": 67000, "f64": 34000}, "bytes_per_ns": 4800, "launch_ns": 2000,
        "library_workspace_bytes": 33554432,
        "host": {"bytes_per_ns": 38, "source": "assumed: half of 16 channels of DDR5-4800, shared by 8 devices"},
        "links": [
          {"name": "nvlink", "to": "device", "up_bytes_per_ns": 450, "down_bytes_per_ns": 450, "latency_ns": 2000,
           "source": "datasheet: 900 GB/s both ways; latency assumed"},
          {"name": "pcie", "to": "host", "up_bytes_per_ns": 55, "down_bytes_per_ns": 55, "latency_ns": 10000,
           "source": "measured: pinned copies of 256 MiB; latency assumed"}],
        "kernels": {
          "adamw": 1.221, "add": 1.077, "add_positions": 0.477, "attention": 2.309,
          "attention_grad": 2.674, "concat": 1.151, "embedding": 0.606, "embedding_grad": 3.254,
          "gelu": 1.231, "gelu_grad": 1.179, "layer_norm": 1.074, "layer_norm_grad": 1.055,
          "layer_norm_grad+add": 1.067, "library linear": 1.267, "library linear+add": 1.203,
          "library linear+gelu": 1.909, "library linear+gelu_grad": 1.939,
          "library linear_weight_grad": 1.244, "library linear_weight_grad+sum_rows": 1.859,
          "library loss_head": 1.99, "linear": 1.489, "linear+gelu": 2.227,
          "linear+gelu_grad": 2.436, "linear_weight_grad": 1.443, "loss_head": 2.527,
          "mul+silu+mul+silu_grad": 1.116, "norm_weight_grad": 1.614, "positions_grad": 0.719,
          "rms_norm": 1.183, "rms_norm_grad": 1.096, "rms_norm_grad+add": 1.151, "rope": 1.144,
          "silu+mul": 1.104, "split": 1.128, "sum_rows": 2.271}})",
    R"({"name": "a100", "source": "NVIDIA A100 80GB SXM datasheet, not measured",
        "memory_bytes": 80000000000, "reserve_bytes": 1000000000,
        "flops_per_ns": {"bf16": 312000, "f32": 19500, "f64": 9700}, "bytes_per_ns": 2039, "launch_ns": 2000,
        "library_workspace_bytes": 4194304, "pcie": 4,
        "host": {"bytes_per_ns": 25, "source": "assumed: half of 16 channels of DDR4-3200, shared by 8 devices"},
        "links": [
          {"name": "nvlink", "to": "device", "up_bytes_per_ns": 300, "down_bytes_per_ns": 300, "latency_ns": 2000,
           "source": "datasheet: 600 GB/s both ways; latency assumed"}]})",
    R"({"name": "cpu", "source": "measured from profiles on two cores of an AMD EPYC with AVX-512", "basis": "measured",
        "flops_per_ns": {"bf16": 313, "f32": 388, "f64": 134}, "bytes_per_ns": 57, "launch_ns": 1000,
        "host": {"bytes_per_ns": 57, "source": "the same memory"},
        "links": [
          {"name": "shared memory", "to": "device", "up_bytes_per_ns": 13, "down_bytes_per_ns": 13, "latency_ns": 900,
           "source": "measured between two processes: MPI_Sendrecv of OpenMPI, 2 MiB in 156 us, 512 bytes in 0.9 us"}],
        "epilogues": "separate"})",
    R"({"name": "b200", "source": "NVIDIA Blackwell architecture brief (HGX B200); bandwidth is bus width by clock, as its driver reports them; not measured",
        "memory_bytes": 180000000000, "reserve_bytes": 1000000000,
        "flops_per_ns": {"bf16": 2250000, "f32": 80000, "f64": 40000}, "bytes_per_ns": 7700, "launch_ns": 2000,
        "library_workspace_bytes": 33554432, "pcie": 5,
        "host": {"bytes_per_ns": 38, "source": "assumed: half of 16 channels of DDR5-4800, shared by 8 devices"},
        "links": [
          {"name": "nvlink", "to": "device", "up_bytes_per_ns": 900, "down_bytes_per_ns": 900, "latency_ns": 2000,
           "source": "datasheet: 1800 GB/s both ways; latency assumed"}]})",
    R"({"name": "rtx4090", "source": "NVIDIA Ada GPU architecture paper: bf16 summed in f32, not measured",
        "memory_bytes": 24000000000, "reserve_bytes": 1000000000,
        "flops_per_ns": {"bf16": 165200, "f32": 82600, "f64": 1290}, "bytes_per_ns": 1008, "launch_ns": 2000,
        "library_workspace_bytes": 4194304, "pcie": 4,
        "host": {"bytes_per_ns": 25, "source": "assumed: half of two channels of DDR4-3200"}})",
    R"({"name": "rtx3090", "source": "NVIDIA GA102 architecture paper: bf16 summed in f32, not measured",
        "memory_bytes": 24000000000, "reserve_bytes": 1000000000,
        "flops_per_ns": {"bf16": 71000, "f32": 35600, "f64": 556}, "bytes_per_ns": 936, "launch_ns": 2000,
        "library_workspace_bytes": 4194304, "pcie": 4,
        "host": {"bytes_per_ns": 25, "source": "assumed: half of two channels of DDR4-3200"}})",
    R"({"name": "l4", "source": "NVIDIA L4 datasheet: half of the bf16 rate with sparsity, not measured",
        "memory_bytes": 23600000000, "reserve_bytes": 1000000000,
        "flops_per_ns": {"bf16": 121000, "f32": 30300, "f64": 473}, "bytes_per_ns": 300, "launch_ns": 2000,
        "library_workspace_bytes": 4194304, "pcie": 4,
        "host": {"bytes_per_ns": 25, "source": "assumed: half of two channels of DDR4-3200"}})",
    R"({"name": "l40s", "source": "NVIDIA L40S datasheet: half of the bf16 rate with sparsity, not measured",
        "memory_bytes": 47600000000, "reserve_bytes": 1000000000,
        "flops_per_ns": {"bf16": 362050, "f32": 91600, "f64": 1431}, "bytes_per_ns": 864, "launch_ns": 2000,
        "library_workspace_bytes": 4194304, "pcie": 4,
        "host": {"bytes_per_ns": 25, "source": "assumed: half of two channels of DDR4-3200"}})",
    R"({"name": "a6000", "source": "NVIDIA RTX A6000 datasheet and GA102 architecture paper: half of the bf16 rate with sparsity, not measured",
        "memory_bytes": 48000000000, "reserve_bytes": 1000000000,
        "flops_per_ns": {"bf16": 154800, "f32": 38700, "f64": 604}, "bytes_per_ns": 768, "launch_ns": 2000,
        "library_workspace_bytes": 4194304, "pcie": 4,
        "host": {"bytes_per_ns": 25, "source": "assumed: half of two channels of DDR4-3200"}})",
    R"({"name": "a10g", "source": "counted from 80 multiprocessors at 1.71 GHz, not measured",
        "memory_bytes": 23600000000, "reserve_bytes": 1000000000,
        "flops_per_ns": {"bf16": 70000, "f32": 35000, "f64": 547}, "bytes_per_ns": 600, "launch_ns": 2000,
        "library_workspace_bytes": 4194304, "pcie": 4,
        "host": {"bytes_per_ns": 25, "source": "assumed: half of two channels of DDR4-3200"}})",
    R"({"name": "mi300x", "source": "AMD Instinct MI300X datasheet, not measured",
        "memory_bytes": 192000000000, "reserve_bytes": 1000000000,
        "flops_per_ns": {"bf16": 1307400, "f32": 163400, "f64": 81700}, "bytes_per_ns": 5300, "launch_ns": 2000,
        "library_workspace_bytes": 33554432, "pcie": 5,
        "host": {"bytes_per_ns": 38, "source": "assumed: half of 16 channels of DDR5-4800, shared by 8 devices"},
        "links": [
          {"name": "infinity fabric", "to": "device", "up_bytes_per_ns": 448, "down_bytes_per_ns": 448, "latency_ns": 2000,
           "source": "datasheet: seven links of 128 GB/s both ways, all used at once; latency assumed"}]})",
    R"({"name": "m2-max", "source": "Apple's specifications of M2 Max with 96 GB; rates from 38 GPU cores of 128 lanes at 1.4 GHz, not measured",
        "memory_bytes": 96000000000, "reserve_bytes": 24000000000,
        "flops_per_ns": {"bf16": 13600, "f32": 13600, "f64": 425}, "bytes_per_ns": 400, "launch_ns": 10000})",
    R"({"name": "m2-ultra", "source": "Apple's specifications of M2 Ultra with 192 GB; rates from 76 GPU cores of 128 lanes at 1.4 GHz, not measured",
        "memory_bytes": 192000000000, "reserve_bytes": 48000000000,
        "flops_per_ns": {"bf16": 27200, "f32": 27200, "f64": 850}, "bytes_per_ns": 800, "launch_ns": 10000})",
    R"({"name": "m3-max", "source": "Apple's specifications of M3 Max with 128 GB; rates from 40 GPU cores of 128 lanes at 1.38 GHz, not measured",
        "memory_bytes": 128000000000, "reserve_bytes": 32000000000,
        "flops_per_ns": {"bf16": 14100, "f32": 14100, "f64": 440}, "bytes_per_ns": 400, "launch_ns": 10000})",
    R"({"name": "m3-ultra", "source": "Apple's specifications of M3 Ultra with 512 GB; rates from 80 GPU cores of 128 lanes at 1.38 GHz, not measured",
        "memory_bytes": 512000000000, "reserve_bytes": 128000000000,
        "flops_per_ns": {"bf16": 28200, "f32": 28200, "f64": 881}, "bytes_per_ns": 819, "launch_ns": 10000})",
    R"({"name": "m4-max", "source": "Apple's specifications of M4 Max with 128 GB; rates from 40 GPU cores of 128 lanes at 1.58 GHz, not measured",
        "memory_bytes": 128000000000, "reserve_bytes": 32000000000,
        "flops_per_ns": {"bf16": 16100, "f32": 16100, "f64": 503}, "bytes_per_ns": 546, "launch_ns": 10000})"};

ArrayRef<StringLiteral> llmmem::shippedDeviceTables() { return tables; }
