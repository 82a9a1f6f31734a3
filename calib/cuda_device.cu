/* Which GPU this is: the runtime tells most; the driver's version and the power limit come from NVML,
 * which is opened only if it is there, so the program needs no driver to start. */
#include "calib/cuda.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static double attribute(cudaDeviceAttr name)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, name, 0) == cudaSuccess ? value : 0;
}

typedef void *nvml_device;

template <typename Call> static Call symbol(void *library, const char *name)
{
    return reinterpret_cast<Call>(dlsym(library, name));
}

/* NVML answers 0 for success in all of its calls. */
static void describe_limits(void *nvml, struct calib_machine *machine)
{
    auto by_bus = symbol<int (*)(const char *, nvml_device *)>(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
    auto power = symbol<int (*)(nvml_device, unsigned *)>(nvml, "nvmlDeviceGetEnforcedPowerLimit");
    auto version = symbol<int (*)(char *, unsigned)>(nvml, "nvmlSystemGetDriverVersion");
    if (version) {
        char text[80] = ""; /* NVML's own bound of this text */
        if (version(text, sizeof text) == 0) snprintf(machine->driver, CALIB_TEXT_MAX, "%s", text);
    }
    char bus[32] = "";
    nvml_device device = NULL;
    unsigned limit_mW = 0;
    if (!by_bus || !power || cudaDeviceGetPCIBusId(bus, sizeof bus, 0) != cudaSuccess) return;
    if (by_bus(bus, &device) == 0 && power(device, &limit_mW) == 0) machine->power_W = limit_mW * 1e-3;
}

static void ask_nvml(struct calib_machine *machine)
{
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!nvml) return;
    auto init = symbol<int (*)(void)>(nvml, "nvmlInit_v2");
    auto shutdown = symbol<int (*)(void)>(nvml, "nvmlShutdown");
    if (init && shutdown && init() == 0) {
        describe_limits(nvml, machine);
        shutdown();
    }
    dlclose(nvml);
}

static void name_cpu(struct calib_machine *machine)
{
    FILE *info = fopen("/proc/cpuinfo", "r");
    if (!info) return;
    char line[256];
    while (fgets(line, sizeof line, info)) {
        const char *name = strstr(line, ": ");
        if (strncmp(line, "model name", 10) != 0 || !name) continue;
        snprintf(machine->cpu, CALIB_TEXT_MAX, "%.*s", (int)strcspn(name + 2, "\n"), name + 2);
        break;
    }
    fclose(info);
}

static void name_libraries(struct calib_machine *machine)
{
    int runtime = 0, major = 0, minor = 0, patch = 0;
    cudaRuntimeGetVersion(&runtime);
    cublasGetProperty(MAJOR_VERSION, &major);
    cublasGetProperty(MINOR_VERSION, &minor);
    cublasGetProperty(PATCH_LEVEL, &patch);
    snprintf(machine->libraries, CALIB_TEXT_MAX, "CUDA %d.%d cuBLAS %d.%d.%d%s%s", runtime / 1000,
             runtime % 1000 / 10, major, minor, patch, cuda_collectives_version(), cuda_attention_version());
}

static void name_driver(struct calib_machine *machine)
{
    int version = 0;
    if (machine->driver[0] || cudaDriverGetVersion(&version) != cudaSuccess) return;
    snprintf(machine->driver, CALIB_TEXT_MAX, "of CUDA %d.%d", version / 1000, version % 1000 / 10);
}

static bool no_device(const char *reason, char *why, size_t size)
{
    snprintf(why, size, "no usable NVIDIA GPU: %s", reason);
    return false;
}

bool gpu_device(struct calib_machine *machine, char *why, size_t size)
{
    cudaError_t found = cudaGetDeviceCount(&gpu.n_devices);
    if (found != cudaSuccess) return no_device(cudaGetErrorString(found), why, size);
    if (gpu.n_devices == 0) return no_device("the driver shows no device", why, size);
    struct cudaDeviceProp of;
    cudaError_t known = cudaGetDeviceProperties(&of, 0);
    if (known == cudaSuccess) known = cudaSetDevice(0);
    if (known == cudaSuccess) known = cudaFree(NULL); /* makes the context, so a bad driver shows here */
    if (known != cudaSuccess) return no_device(cudaGetErrorString(known), why, size);

    gpu.capability = of.major * 10 + of.minor;
    gpu.n_multiprocessors = of.multiProcessorCount;
    gpu.cache_B = of.l2CacheSize;
    snprintf(machine->clock, CALIB_TEXT_MAX, "events of the device; launches: the host's clock");
    machine->tick_s = 0.5e-6; /* of events (CUDA Runtime API, cudaEventElapsedTime) */
    snprintf(machine->device, CALIB_TEXT_MAX, "%.*s", CALIB_TEXT_MAX - 1, of.name);
    machine->n_devices = gpu.n_devices;
    machine->clock_Hz = attribute(cudaDevAttrClockRate) * 1e3; /* both are in kHz */
    machine->memory_clock_Hz = attribute(cudaDevAttrMemoryClockRate) * 1e3;
    machine->memory_B = (double)of.totalGlobalMem;
    ask_nvml(machine);
    name_driver(machine);
    name_libraries(machine);
    name_cpu(machine);
    return true;
}
