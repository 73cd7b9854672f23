/* A stand-in for NVIDIA's management library, with the functions that assay calls: what a
 * recorded GPU said, on a machine without one. It plays a recording in circles, from the first call on.
 *
 *   FAKE_NVML_TRACE      file of lines "ms draw_mw instant_mw", in order of time; what it says holds up to the next
 *   FAKE_NVML_CARDS      number of GPUs (1); the second one plays the recording 3 s later, and so on
 *   FAKE_NVML_NAME, _CC  of all of them ("NVIDIA GeForce RTX 3090", "86")
 *   FAKE_NVML_COUNTER    0: they have no energy counter. Else it is the integral of instant power, in ticks of 100 ms
 *   FAKE_NVML_MIG        1: MIG is on, and utilisation is not told
 *   FAKE_NVML_PROCESSES  file of lines "gpu pid mib", read at every call; a first line "!": no permission
 *   FAKE_NVML_WALL       1: the recording plays by the wall clock, so that a plug can play it too
 *   FAKE_NVML_LOST       file: from when it is there on, every GPU is lost
 *
 * gcc -shared -fPIC -I FOLDER_OF_nvml.h -o libnvidia-ml.so.1 libnvml.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"

#define MOST 100000
#define CARDS 8
#define TICK 100 /* ms */

static struct { long ms; unsigned draw, instant; } trace[MOST];
static int rows;
static struct timespec began;
static int handles[CARDS]; /* a device is a pointer to its place here */

static const char *env(const char *name, const char *otherwise) {
	const char *v = getenv(name);
	return v && *v ? v : otherwise;
}

static int cards(void) { return atoi(env("FAKE_NVML_CARDS", "1")); }
static int mig(void) { return atoi(env("FAKE_NVML_MIG", "0")); }
static int index_of(nvmlDevice_t d) { return (int)((int *)d.handle - handles); } /* go-nvml wraps the handle */
static nvmlReturn_t lost(void) { return access(env("FAKE_NVML_LOST", "/nonexistent"), F_OK) == 0 ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS; }

#define ALIVE do { nvmlReturn_t r = lost(); if (r != NVML_SUCCESS) return r; } while (0)

static long length(void) { return trace[rows - 1].ms - trace[0].ms; }

/* now is how long the GPU has played, ms. */
static long now(nvmlDevice_t d) {
	struct timespec t;
	if (atoi(env("FAKE_NVML_WALL", "0"))) {
		clock_gettime(CLOCK_REALTIME, &t);
		return t.tv_sec * 1000 + t.tv_nsec / 1000000;
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec - began.tv_sec) * 1000 + (t.tv_nsec - began.tv_nsec) / 1000000 + 3000L * index_of(d);
}

static int row(long at) {
	long ms = trace[0].ms + at % length();
	int low = 0, high = rows - 1;
	while (low + 1 < high) {
		int mid = (low + high) / 2;
		if (trace[mid].ms <= ms) low = mid; else high = mid;
	}
	return low;
}

nvmlReturn_t nvmlInit_v2(void) {
	FILE *f = fopen(env("FAKE_NVML_TRACE", ""), "r");
	if (!f) return NVML_ERROR_DRIVER_NOT_LOADED;
	rows = 0;
	while (rows < MOST && fscanf(f, "%ld %u %u", &trace[rows].ms, &trace[rows].draw, &trace[rows].instant) == 3) rows++;
	fclose(f);
	if (rows < 2) return NVML_ERROR_UNKNOWN;
	clock_gettime(CLOCK_MONOTONIC, &began);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlShutdown(void) { return NVML_SUCCESS; }
const char *nvmlErrorString(nvmlReturn_t r) { (void)r; return "an error of the stand-in"; }

static nvmlReturn_t text(char *to, unsigned n, const char *from) { snprintf(to, n, "%s", from); return NVML_SUCCESS; }

nvmlReturn_t nvmlSystemGetDriverVersion(char *v, unsigned n) { return text(v, n, "535.54.03"); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *v, unsigned n) { return text(v, n, "12.535.54.03"); }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *n) { *n = cards(); return NVML_SUCCESS; }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned i, nvmlDevice_t *d) {
	if ((int)i >= cards()) return NVML_ERROR_INVALID_ARGUMENT;
	d->handle = (void *)&handles[i];
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *v, unsigned n) { (void)d; return text(v, n, env("FAKE_NVML_NAME", "NVIDIA GeForce RTX 3090")); }

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *v, unsigned n) {
	snprintf(v, n, "GPU-5a1e000%d-0000-0000-0000-000000000000", index_of(d));
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *p) {
	memset(p, 0, sizeof *p);
	p->bus = 0x9b + index_of(d);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m) {
	(void)d;
	ALIVE;
	m->total = 24ULL << 30; m->used = 9ULL << 30; m->free = m->total - m->used;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *mw) { (void)d; *mw = 350000; return NVML_SUCCESS; }

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t d, int *major, int *minor) {
	int cc = atoi(env("FAKE_NVML_CC", "86"));
	(void)d;
	*major = cc / 10; *minor = cc % 10;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *current, unsigned *pending) { (void)d; *current = *pending = mig(); return NVML_SUCCESS; }

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *mw) { ALIVE; *mw = trace[row(now(d))].draw; return NVML_SUCCESS; }

/* energy is the integral of instant power over the first ms of playing, mJ. */
static unsigned long long energy(long ms) {
	double whole = 0, rest = 0;
	long left = ms % length();
	for (int i = 0; i + 1 < rows; i++) {
		long from = trace[i].ms - trace[0].ms, to = trace[i + 1].ms - trace[0].ms;
		whole += trace[i].instant * (to - from) / 1000.0;
		if (left > from) rest += trace[i].instant * ((left < to ? left : to) - from) / 1000.0;
	}
	return (unsigned long long)(whole * (ms / length()) + rest);
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, unsigned long long *mj) {
	ALIVE;
	if (!atoi(env("FAKE_NVML_COUNTER", "1"))) return NVML_ERROR_NOT_SUPPORTED;
	*mj = 4000000 + energy(now(d) / TICK * TICK);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *v) {
	ALIVE;
	for (int i = 0; i < n; i++) {
		v[i].nvmlReturn = NVML_SUCCESS;
		v[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
		switch (v[i].fieldId) {
		case NVML_FI_DEV_POWER_AVERAGE: v[i].value.uiVal = trace[row(now(d))].draw; break;
		case NVML_FI_DEV_POWER_INSTANT: v[i].value.uiVal = trace[row(now(d))].instant; break;
		case NVML_FI_DEV_MEMORY_TEMP: v[i].value.uiVal = 60; break;
		default: v[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
		}
	}
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u) {
	ALIVE;
	if (mig()) return NVML_ERROR_NOT_SUPPORTED;
	u->gpu = trace[row(now(d))].instant > 170000 ? 97 : 0; u->memory = u->gpu / 2;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, nvmlTemperatureSensors_t s, unsigned *c) { (void)d; (void)s; ALIVE; *c = 55; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, nvmlClockType_t t, unsigned *mhz) { (void)d; (void)t; ALIVE; *mhz = 1700; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, unsigned long long *why) { (void)d; ALIVE; *why = nvmlClocksEventReasonGpuIdle; return NVML_SUCCESS; }

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *list) {
	unsigned found = 0;
	int gpu, pid, mib, first;
	FILE *f = fopen(env("FAKE_NVML_PROCESSES", ""), "r");
	nvmlReturn_t ret = lost();
	if (!f) { *n = 0; return ret; }
	if ((first = fgetc(f)) == '!') ret = NVML_ERROR_NO_PERMISSION;
	ungetc(first, f);
	while (ret != NVML_ERROR_NO_PERMISSION && fscanf(f, "%d %d %d", &gpu, &pid, &mib) == 3) {
		if (gpu != index_of(d)) continue;
		if (found < *n) list[found] = (nvmlProcessInfo_t){.pid = pid, .usedGpuMemory = (unsigned long long)mib << 20, .gpuInstanceId = -1U, .computeInstanceId = -1U};
		found++;
	}
	fclose(f);
	if (ret == NVML_SUCCESS && found > *n) ret = NVML_ERROR_INSUFFICIENT_SIZE;
	*n = found;
	return ret;
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *list) { (void)d; (void)list; *n = 0; return NVML_SUCCESS; }
