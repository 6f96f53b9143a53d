/* Restores the descriptors of a rewound process. The descriptors at the time of the picture are
 * known one by one, and any other descriptor is closed after the request. Two numbers that are
 * cheap to read (the count of descriptors, and the lowest free number) show whether there is any
 * other. */
#include "rewind/state.h"
#include "process/process.h"
#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- before the first request ---- */

static int open_of_process(const char *name, int flags)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/self/%s", name);
  int file = open(path, flags | O_CLOEXEC);
  int high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 10);
  if (file >= 0)
    close(file);
  mehari_descriptor_claim(high);
  return high;
}

/* Whether a descriptor can be rewound. A descriptor with another end (a pipe, a socket) or with
 * unknown state cannot be rewound. */
static bool can_be_rewound(int file, const struct stat *about)
{
  if (file < 3 || mehari_descriptor_is_own(file) || S_ISREG(about->st_mode) || S_ISDIR(about->st_mode))
    return true;
  return S_ISCHR(about->st_mode) && major(about->st_rdev) == 1; /* /dev/null, /dev/urandom and the like */
}

/* Whether the descriptor belongs to a library and not to the server. The script may use and close
 * such a descriptor. */
static bool is_foreign(int file) { return file > 2 && !mehari_descriptor_is_own(file); }

/* Writes the address of one end of a socket. False: this end has no address that a reader knows. */
static bool write_address(const struct sockaddr_storage *address, socklen_t length, char *text, size_t size)
{
  const struct sockaddr_un *local = (const struct sockaddr_un *)address;
  char host[INET6_ADDRSTRLEN], port[8];
  bool has_path = address->ss_family == AF_UNIX && length > offsetof(struct sockaddr_un, sun_path) && local->sun_path[0];
  if (has_path)
    snprintf(text, size, "%.60s", local->sun_path);
  else if (address->ss_family == AF_INET || address->ss_family == AF_INET6) {
    if (getnameinfo((const struct sockaddr *)address, length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV))
      return false;
    snprintf(text, size, "%s:%s", host, port);
  } else
    return false;
  return true;
}

/* Names an open descriptor: a socket by the address of its other end or its own, anything else as
 * /proc does. */
static void name_file(int file, char *name, size_t size)
{
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  char path[64], text[80];
  if (getpeername(file, (struct sockaddr *)&address, &length) == 0 && write_address(&address, length, text, sizeof text))
    snprintf(name, size, "a socket to %s", text);
  else if (length = sizeof address, getsockname(file, (struct sockaddr *)&address, &length) == 0 && write_address(&address, length, text, sizeof text))
    snprintf(name, size, "a socket of %s", text);
  else {
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    ssize_t read = readlink(path, name, size - 1);
    name[read > 0 ? read : 0] = '\0';
  }
}

static const char *know(mehari_rewind *rewind, int file)
{
  static char refusal[sizeof rewind->spoiled];
  char name[96];
  struct stat about;
  if (fstat(file, &about) < 0)
    return NULL;
  if (rewind->known_count == MEHARI_REWIND_FILES)
    return "too many descriptors are open before its first request";
  if (!can_be_rewound(file, &about)) {
    name_file(file, name, sizeof name);
    snprintf(refusal, sizeof refusal, "%s is open before its first request", name);
    return refusal;
  }
  bool moves = S_ISREG(about.st_mode) && is_foreign(file);
  int flags = fcntl(file, F_GETFD) & FD_CLOEXEC ? O_CLOEXEC : 0;
  rewind->known[rewind->known_count++] = (mehari_known_file){file, -1, flags, about.st_dev, about.st_ino, moves ? lseek(file, 0, SEEK_CUR) : -1};
  return NULL;
}

#define NUMBERS 1024

/* Lists the open descriptors. opendir(3) would write to the heap, which is in the picture. */
static bool list_open(mehari_rewind *rewind, bool is_open[NUMBERS])
{
  int all = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  long length = 0;
  while (all >= 0 && (length = KERNEL(SYS_getdents64, all, rewind->text, sizeof rewind->text)) > 0)
    for (long at = 0; at < length;) {
      const struct dirent64 *each = (const struct dirent64 *)(rewind->text + at);
      int file = atoi(each->d_name);
      if (isDIGIT(*each->d_name) && file != all && file < NUMBERS)
        is_open[file] = true;
      at += each->d_reclen;
    }
  if (all >= 0)
    close(all);
  return all >= 0 && length == 0;
}

static const char *know_all(mehari_rewind *rewind)
{
  bool was_open[NUMBERS] = {false}, is_open[NUMBERS] = {false};
  int spares[NUMBERS];
  const char *refusal = NULL;
  if (!list_open(rewind, was_open))
    return "/proc/self cannot be read";
  for (int file = 0; file < NUMBERS; file++) {
    if (was_open[file] && is_foreign(file)) {
      rewind->reach |= MEHARI_REACH_FILES; /* a handle may be closed and opened again */
      name_file(file, rewind->foreign_file, sizeof rewind->foreign_file);
    }
    spares[file] = was_open[file] && is_foreign(file) ? fcntl(file, F_DUPFD_CLOEXEC, 10) : -1;
    mehari_descriptor_claim(spares[file]);
  }
  list_open(rewind, is_open);
  for (int file = 0; file < NUMBERS && !refusal; file++)
    if (is_open[file])
      refusal = know(rewind, file);
  for (uint32_t i = 0; i < rewind->known_count; i++)
    rewind->known[i].spare = spares[rewind->known[i].number];
  return refusal;
}

/* Finds copies of the first three descriptors among the known ones. */
static void find_spares(mehari_rewind *rewind)
{
  for (uint32_t i = 0; i < rewind->known_count && rewind->known[i].number < 3; i++)
    for (uint32_t k = i + 1; k < rewind->known_count; k++)
      if (rewind->known[k].number > 2 && rewind->known[k].device == rewind->known[i].device && rewind->known[k].inode == rewind->known[i].inode)
        rewind->known[i].spare = rewind->known[k].number;
}

static void count_files(mehari_rewind *rewind, uint64_t *count, uint32_t *lowest)
{
  struct stat about;
  *count = KERNEL(SYS_fstat, rewind->files, &about) == 0 ? about.st_size : 0; /* Linux 6.2 and later */
  *lowest = KERNEL(SYS_dup, rewind->home);
  KERNEL(SYS_close, *lowest);
}

static int make_own_picture(void)
{
  int file = memfd_create("mehari own picture", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  int high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 10);
  if (file >= 0)
    close(file);
  mehari_descriptor_claim(high);
  return high;
}

const char *mehari_rewind_open_files(mehari_rewind *rewind)
{
  rewind->own_picture = make_own_picture();
  rewind->pagemap = open_of_process("pagemap", O_RDONLY);
  rewind->statm = open_of_process("statm", O_RDONLY);
  rewind->stat = open_of_process("stat", O_RDONLY);
  rewind->tasks = open_of_process("task", O_RDONLY | O_DIRECTORY);
  rewind->maps = open_of_process("maps", O_RDONLY);
  rewind->timers = open_of_process("timers", O_RDONLY); /* not every kernel has this file */
  rewind->files = open_of_process("fd", O_RDONLY | O_DIRECTORY);
  rewind->home = open_of_process("cwd", O_PATH | O_DIRECTORY);
  if (rewind->own_picture < 0 || rewind->pagemap < 0 || rewind->statm < 0 || rewind->stat < 0 || rewind->tasks < 0 || rewind->maps < 0 || rewind->files < 0 || rewind->home < 0) {
    rewind->is_refused_by_kernel = true;
    return "/proc/self cannot be read";
  }
  rewind->known_count = 0;
  rewind->foreign_file[0] = '\0';
  const char *refusal = know_all(rewind);
  find_spares(rewind);
  count_files(rewind, &rewind->file_count, &rewind->lowest_free);
  return refusal;
}

/* ---- on the stack aside ---- */

static bool is_there(const mehari_known_file *this)
{
  struct stat now;
  return KERNEL(SYS_fstat, this->number, &now) == 0 && now.st_dev == this->device && now.st_ino == this->inode;
}

/* Restores the descriptors that a request often closes or replaces. */
static void put_back_replaced(mehari_rewind *rewind)
{
  for (uint32_t i = 0; i < rewind->known_count; i++) {
    const mehari_known_file *this = &rewind->known[i];
    if (this->number <= 2)
      KERNEL(SYS_fcntl, this->number, F_SETFD, this->flags ? FD_CLOEXEC : 0);
    if ((this->number > 2 && this->spare < 0) || is_there(this))
      continue;
    if (this->spare < 0 || KERNEL(SYS_dup3, this->spare, this->number, this->flags) < 0 || !is_there(this))
      mehari_rewind_refuse(rewind, "it closed a standard descriptor of the process");
  }
}

static void close_strangers(mehari_rewind *rewind)
{
  unsigned next = 0;
  for (uint32_t i = 0; i < rewind->known_count; i++) {
    unsigned number = rewind->known[i].number;
    if (number > next)
      KERNEL(SYS_close_range, next, number - 1, 0);
    next = number + 1;
  }
  KERNEL(SYS_close_range, next, ~0u, 0);
}

static bool are_all_there(mehari_rewind *rewind)
{
  for (uint32_t i = 0; i < rewind->known_count; i++)
    if (!is_there(&rewind->known[i]))
      return false;
  return true;
}

static void put_back_open_files(mehari_rewind *rewind)
{
  uint64_t count;
  uint32_t lowest;
  put_back_replaced(rewind);
  count_files(rewind, &count, &lowest);
  if (count != rewind->file_count || !count || lowest != rewind->lowest_free || rewind->doubtful_files) {
    close_strangers(rewind);
    if (!are_all_there(rewind))
      mehari_rewind_refuse(rewind, "it closed descriptors that are not its own");
  }
  rewind->doubtful_files = false;
}

void mehari_rewind_put_back_files(mehari_rewind *rewind)
{
  if (rewind->doubts & MEHARI_REACH_FILES)
    put_back_open_files(rewind);
  for (uint32_t i = 0; i < rewind->known_count; i++)
    if (rewind->known[i].offset >= 0)
      KERNEL(SYS_lseek, rewind->known[i].number, rewind->known[i].offset, SEEK_SET);
  if (rewind->doubts & MEHARI_REACH_FOLDER && KERNEL(SYS_fchdir, rewind->home) < 0)
    mehari_rewind_refuse(rewind, "its folder cannot be entered again");
}
