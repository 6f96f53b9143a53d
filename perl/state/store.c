/* Opens, locks, enlarges and rewrites the file of a store, and takes locks by name.
 *
 * The lock of the file is a robust mutex in the file, so an operation needs no system call, and
 * the next process learns that a holder has died. A lock by name, which a program may hold for
 * long, is a lock of the kernel (fcntl) on one byte of PATH.locks. The name gives the offset of the
 * byte. The kernel releases the locks of a dead process. */
#include "store.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_SECONDS = 10, FIRST_BUCKETS = 4096, FIRST_SIZE = 256 << 10, SPARE_DESCRIPTOR = 400 };

static _Thread_local mehari_store *stores; /* each thread of a program maps its own */

bool store_fail(mehari_store *store, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(store->problem, sizeof store->problem, format, arguments);
  va_end(arguments);
  return false;
}

static bool fail_of_system(mehari_store *store, const char *what)
{
  return store_fail(store, "cannot %s %s: %s", what, store->path, strerror(errno));
}

static void boot_name(char name[40])
{
  memset(name, 0, 40);
  int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    if (read(file, name, 36) < 0)
      name[0] = 0;
    close(file);
  }
}

static bool map_file(mehari_store *store, int file)
{
  struct stat status;
  if (fstat(file, &status))
    return fail_of_system(store, "look at");
  if (store->base)
    munmap(store->base, store->mapped);
  store->mapped = status.st_size;
  store->inode = status.st_ino;
  store->base = mmap(NULL, store->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (store->base == MAP_FAILED) {
    store->base = NULL;
    return fail_of_system(store, "map");
  }
  store->header = (store_header *)store->base;
  return true;
}

static void make_lock(store_header *header)
{
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  memset(&header->lock, 0, sizeof header->lock);
  pthread_mutex_init(&header->lock, &kind);
  pthread_mutexattr_destroy(&kind);
}

/* Allocates the blocks of the file. A full disk is then an error here, and not a signal at a later
 * write to the mapped memory. */
static bool extend(mehari_store *store, int file, uint64_t size)
{
  int problem = posix_fallocate(file, 0, size);
  errno = problem;
  return !problem || fail_of_system(store, "extend");
}

static bool make_file(mehari_store *store, int file, uint64_t size, uint64_t buckets, uint64_t first_hash)
{
  if (!extend(store, file, size) || !map_file(store, file))
    return false;
  store_header *header = store->header;
  *header = (store_header){ .format = STORE_FORMAT, .size = size, .buckets = buckets, .tail = STORE_HEAD + buckets * 8, .next_hash = first_hash, .limit = store->limit };
  if (getrandom(&header->seed, sizeof header->seed, GRND_NONBLOCK) != sizeof header->seed)
    header->seed = (uint64_t)time(NULL) * 0x9E3779B97F4A7C15u ^ getpid();
  boot_name(header->boot);
  make_lock(header);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  memcpy(header->magic, "MehariS\n", 8);
  return true;
}

static bool is_ours(mehari_store *store)
{
  store_header *header = store->header;
  if (store->mapped < STORE_HEAD || memcmp(header->magic, "MehariS\n", 8))
    return store_fail(store, "%s is no store of Mehari: give another name, or remove it", store->path);
  if (header->format != STORE_FORMAT)
    return store_fail(store, "%s has format %u, this Mehari reads %d", store->path, header->format, STORE_FORMAT);
  if (header->size > store->mapped || header->tail > header->size || header->buckets > store->mapped / 8 || header->tail < STORE_HEAD + header->buckets * 8 ||
      header->buckets & (header->buckets - 1) || !header->buckets)
    return store_fail(store, "%s is damaged: its header does not fit its %llu bytes", store->path, (unsigned long long)store->mapped);
  return true;
}

/* Prepares a file that was last used before the machine was booted: makes a new lock, and removes
 * incomplete records, which a power failure may have left. */
static void adopt(mehari_store *store)
{
  char boot[40];
  boot_name(boot);
  if (!memcmp(boot, store->header->boot, sizeof boot))
    return;
  make_lock(store->header);
  store->damaged += table_audit(store);
  memcpy(store->header->boot, boot, sizeof boot);
}

static bool attach(mehari_store *store, int flags, unsigned mode)
{
  int file = open(store->path, (flags & O_CREAT) | O_RDWR | O_CLOEXEC | O_NOFOLLOW, mode);
  if (file < 0)
    return fail_of_system(store, "open");
  struct stat status;
  bool done = !fstat(file, &status) || fail_of_system(store, "look at");
  if (done && !S_ISREG(status.st_mode))
    done = store_fail(store, "%s is no plain file", store->path);
  else if (done && status.st_size == 0)
    done = make_file(store, file, FIRST_SIZE, FIRST_BUCKETS, 1);
  else if (done && status.st_size < STORE_HEAD)
    done = store_fail(store, "%s is no store of Mehari: give another name, or remove it", store->path);
  else if (done && (done = map_file(store, file) && is_ours(store)))
    adopt(store);
  close(file);
  return done;
}

/* Opens PATH.locks. The descriptor gets a high number, because programs often close or replace
 * low numbers. */
static bool open_locks(mehari_store *store, unsigned mode)
{
  char name[4200];
  snprintf(name, sizeof name, "%s.locks", store->path);
  int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
  if (file < 0)
    return store_fail(store, "cannot open %s: %s", name, strerror(errno));
  int far = fcntl(file, F_DUPFD_CLOEXEC, SPARE_DESCRIPTOR);
  store->locks = far < 0 ? file : far;
  if (far >= 0)
    close(file);
  return true;
}

static bool reattach(mehari_store *store, int flags, unsigned mode)
{
  while (flock(store->locks, LOCK_EX))
    if (errno != EINTR)
      return fail_of_system(store, "lock");
  bool done = attach(store, flags, mode);
  flock(store->locks, LOCK_UN);
  return done;
}

static void release(mehari_store *store)
{
  if (store->base)
    munmap(store->base, store->mapped);
  if (store->locks >= 0)
    close(store->locks);
  free(store->path);
  free(store);
}

mehari_store *store_open(const char *path, int flags, unsigned mode, uint64_t limit, bool drop_by_age, char *problem, size_t room)
{
  for (mehari_store *store = stores; store; store = store->following)
    if (!strcmp(store->path, path))
      return store;
  if (strlen(path) > 4000) {
    snprintf(problem, room, "a path of %zu bytes: at most 4000", strlen(path));
    return NULL;
  }
  mehari_store *store = calloc(1, sizeof *store);
  if (!store || !(store->path = strdup(path))) {
    free(store);
    snprintf(problem, room, "no memory for a store");
    return NULL;
  }
  store->limit = limit ? limit : STORE_SIZE_LIMIT;
  store->drop_by_age = drop_by_age;
  store->locks = -1;
  struct stat status;
  if (!(flags & O_CREAT) && stat(path, &status))
    fail_of_system(store, "open");
  else if (open_locks(store, mode) && reattach(store, flags, mode)) {
    store->following = stores;
    return stores = store;
  }
  snprintf(problem, room, "%s", store->problem);
  release(store);
  return NULL;
}

/* Makes the lock usable after the death of its holder. The records are complete (see store.h). But
 * if the dead process has replaced the file by a new file, the others must learn this. */
static void recover(mehari_store *store)
{
  struct stat status;
  if (stat(store->path, &status) || status.st_ino != store->inode)
    store->header->moved = 1;
  pthread_mutex_consistent(&store->header->lock);
}

bool store_enter(mehari_store *store)
{
  for (int attempt = 0; attempt < 100; attempt++) {
    if (!store->base && !reattach(store, 0, 0))
      return false;
    int result = pthread_mutex_trylock(&store->header->lock);
    if (result == EBUSY) {
      struct timespec until;
      clock_gettime(CLOCK_REALTIME, &until);
      until.tv_sec += WAIT_SECONDS;
      result = pthread_mutex_timedlock(&store->header->lock, &until);
    }
    if (result == EOWNERDEAD)
      recover(store);
    else if (result == ETIMEDOUT)
      return store_fail(store, "%s has been locked by another process for %d seconds", store->path, WAIT_SECONDS);
    else if (result)
      return store_fail(store, "cannot lock %s: %s", store->path, strerror(result));
    if (!store->header->moved) {
      if (store->header->size <= store->mapped)
        return true;
      /* Another process has enlarged the file. A lock must be released before its memory is
       * unmapped. */
      pthread_mutex_unlock(&store->header->lock);
    } else
      pthread_mutex_unlock(&store->header->lock);
    if (!reattach(store, 0, 0))
      return false;
  }
  return store_fail(store, "%s is being written anew again and again", store->path);
}

void store_leave(mehari_store *store)
{
  pthread_mutex_unlock(&store->header->lock);
}

/* Writes the current records to a new file, which then gets the name of the old file. Processes
 * that have mapped the old file see `moved` and map the new file. This process returns with the
 * lock of the new file. */
static bool write_anew(mehari_store *store, uint64_t size, uint64_t keep)
{
  char name[4200];
  snprintf(name, sizeof name, "%s.new", store->path);
  unlink(name);
  struct stat status;
  mehari_store fresh = { .path = name, .locks = -1 }; /* no limit: it has room for all records */
  if (stat(store->path, &status))
    return fail_of_system(store, "look at");
  uint64_t buckets = FIRST_BUCKETS;
  while (buckets < store->header->records)
    buckets *= 2;
  int file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, status.st_mode & 0777);
  if (file < 0)
    return store_fail(store, "cannot write %s anew: %s", store->path, strerror(errno));
  bool done = make_file(&fresh, file, size + STORE_HEAD + buckets * 8 + 2 * STORE_NAME_LIMIT, buckets, store->header->next_hash) || store_fail(store, "%s", fresh.problem);
  if (done) {
    fresh.header->seed = store->header->seed;
    pthread_mutex_lock(&fresh.header->lock);
    done = table_copy(store, &fresh, keep);
    if (fchown(file, status.st_uid, status.st_gid)) {
      /* Without the right to change the owner, the new file belongs to this process's user. */
    }
    if (done && rename(name, store->path))
      done = store_fail(store, "cannot write %s anew: %s", store->path, strerror(errno));
  }
  close(file);
  if (!done) {
    unlink(name);
    if (fresh.base) {
      /* The kernel has a list of the robust locks that a thread holds, so a lock must be released
       * before its memory is unmapped. */
      pthread_mutex_unlock(&fresh.header->lock);
      munmap(fresh.base, fresh.mapped);
    }
    return false;
  }
  store->header->moved = 1;
  pthread_mutex_unlock(&store->header->lock);
  munmap(store->base, store->mapped);
  store->base = fresh.base;
  store->header = fresh.header;
  store->mapped = fresh.mapped;
  store->inode = fresh.inode;
  return true;
}

bool store_make_room(mehari_store *store, uint64_t bytes)
{
  store_header *header = store->header;
  if (header->size - header->tail >= bytes)
    return true;
  uint64_t needed = header->live + bytes, size = FIRST_SIZE;
  /* Half of the new file is free, so that it is not rewritten again soon. */
  while (size < 2 * needed)
    size *= 2;
  if (store->drop_by_age && size > store->limit) {
    if (bytes > store->limit / 2)
      return store_fail(store, "a value of about %llu bytes is more than half of %s (%llu bytes)", (unsigned long long)bytes, store->path, (unsigned long long)store->limit);
    uint64_t keep = store->limit / 2;
    return write_anew(store, store->limit + bytes, keep > bytes ? keep - bytes : 1);
  }
  if (size > store->limit)
    size = store->limit;
  if (needed > size)
    return store_fail(store, "%s is full: %llu bytes are in use, its limit is %llu", store->path, (unsigned long long)header->live, (unsigned long long)store->limit);
  return write_anew(store, size, 0);
}

/* Takes or releases the lock of a name. `kind` is F_RDLCK, F_WRLCK or F_UNLCK. On failure errno is
 * EDEADLK, or EAGAIN if another process holds the lock and `wait` is false. */
bool store_lock_name(mehari_store *store, store_text name, short kind, bool wait)
{
  struct flock lock = { .l_type = kind, .l_whence = SEEK_SET, .l_start = store_digest(0x6D6568617269, name) >> 2, .l_len = 1 };
  for (;;) {
    if (!fcntl(store->locks, wait ? F_SETLKW : F_SETLK, &lock))
      return true;
    if (errno == EBADF && kind != F_UNLCK && open_locks(store, 0600))
      continue; /* the program has closed the descriptor */
    if (errno != EINTR)
      return store_fail(store, errno == EDEADLK ? "cannot lock \"%.*s\" in %s: another process holds it and waits for a lock of this one" : "cannot lock \"%.*s\" in %s: %m",
                        (int)(name.length > 80 ? 80 : name.length), name.at, store->path);
  }
}
