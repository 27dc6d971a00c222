/* Ground truth for test_gil_truth.py: takes and releases the GIL, and reads the clock around each. */
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void* PyEval_SaveThread(void);
void PyEval_RestoreThread(void*);
int PyGILState_Ensure(void);
void PyGILState_Release(int);

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

void hold(long us) {
  for (int64_t end = now() + us * 1000; now() < end;) {
  }
}

/* out: n times the ns before and after each release, before and after each acquisition */
void pairs(long n, long us, int64_t* out) {
  for (long i = 0; i < n; ++i, out += 4) {
    out[0] = now();
    void* state = PyEval_SaveThread();
    out[1] = now();
    hold(us);
    out[2] = now();
    PyEval_RestoreThread(state);
    out[3] = now();
    hold(us);
  }
}

struct job {
  long n, us;
  int64_t *out, thread;
};

/* out: n times the ns before and after each acquisition, before and after each release */
static void* foreign(void* p) {
  struct job* job = p;
  int64_t* out = job->out;
  job->thread = syscall(SYS_gettid);
  for (long i = 0; i < job->n; ++i, out += 4) {
    out[0] = now();
    int state = PyGILState_Ensure();
    out[1] = now();
    hold(job->us);
    out[2] = now();
    PyGILState_Release(state);
    out[3] = now();
    hold(job->us);
  }
  return NULL;
}

/* Threads that Python knows nothing of; their ids go to `ids`. */
void foreign_threads(int count, long n, long us, int64_t* out, int64_t* ids) {
  pthread_t threads[64];
  struct job jobs[64];
  void* state = PyEval_SaveThread();
  for (int i = 0; i < count; ++i) {
    jobs[i] = (struct job){n, us, out + 4 * n * i, 0};
    pthread_create(&threads[i], NULL, foreign, &jobs[i]);
  }
  for (int i = 0; i < count; ++i) {
    pthread_join(threads[i], NULL);
    ids[i] = jobs[i].thread;
  }
  PyEval_RestoreThread(state);
}
