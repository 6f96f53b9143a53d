/* Finds out which state of the kernel the loaded libraries are able to change, so that a rewind
 * checks only this state. A library that does not import `setitimer` and the like sets no timer.
 * Most calls of imported functions are noticed (calls.c), so a rewind makes their checks only after
 * such a call.
 *
 * The operators of perl, and the subs of the modules in the list `known`, are not counted: the
 * server notices each of their changes (interpreter/operators.c, process/watch.c). A library that
 * is loaded during a request may change anything. */
#include "rewind/state.h"
#include <link.h>
#include <stdio.h>
#include <string.h>

static const struct { const char *name; unsigned reach; } imports[] = {
  {"sigaction", MEHARI_REACH_SIGNALS},
  {"signal", MEHARI_REACH_SIGNALS},
  {"__sysv_signal", MEHARI_REACH_SIGNALS},
  {"bsd_signal", MEHARI_REACH_SIGNALS},
  {"ssignal", MEHARI_REACH_SIGNALS},
  {"sigset", MEHARI_REACH_SIGNALS},
  {"sigignore", MEHARI_REACH_SIGNALS},
  {"sighold", MEHARI_REACH_SIGNALS},
  {"sigblock", MEHARI_REACH_SIGNALS},
  {"sigsetmask", MEHARI_REACH_SIGNALS},
  {"siginterrupt", MEHARI_REACH_SIGNALS},
  {"sigprocmask", MEHARI_REACH_SIGNALS},
  {"pthread_sigmask", MEHARI_REACH_SIGNALS},
  {"alarm", MEHARI_REACH_TIMERS | MEHARI_REACH_SIGNALS},
  {"ualarm", MEHARI_REACH_TIMERS | MEHARI_REACH_SIGNALS},
  {"setitimer", MEHARI_REACH_TIMERS | MEHARI_REACH_SIGNALS},
  {"timer_create", MEHARI_REACH_TIMERS | MEHARI_REACH_SIGNALS},
  {"setsid", MEHARI_REACH_STANDING},
  {"setpgid", MEHARI_REACH_STANDING},
  {"setpgrp", MEHARI_REACH_STANDING},
  {"nice", MEHARI_REACH_STANDING},
  {"setpriority", MEHARI_REACH_STANDING},
  {"daemon", MEHARI_REACH_STANDING},
  {"pthread_create", MEHARI_REACH_THREADS},
  {"thrd_create", MEHARI_REACH_THREADS},
  {"vfork", MEHARI_REACH_CHILDREN},
  {"_Fork", MEHARI_REACH_CHILDREN},
  {"posix_spawn", MEHARI_REACH_CHILDREN},
  {"posix_spawnp", MEHARI_REACH_CHILDREN},
  {"system", MEHARI_REACH_CHILDREN},
  {"popen", MEHARI_REACH_CHILDREN | MEHARI_REACH_FILES},
  {"chdir", MEHARI_REACH_FOLDER},
  {"fchdir", MEHARI_REACH_FOLDER},
  {"umask", MEHARI_REACH_FOLDER},
  {"prctl", MEHARI_REACH_NAME | MEHARI_REACH_LASTING},
  {"pthread_setname_np", MEHARI_REACH_NAME},
  {"setuid", MEHARI_REACH_USER},
  {"seteuid", MEHARI_REACH_USER},
  {"setreuid", MEHARI_REACH_USER},
  {"setresuid", MEHARI_REACH_USER},
  {"setfsuid", MEHARI_REACH_USER},
  {"setgid", MEHARI_REACH_USER},
  {"setegid", MEHARI_REACH_USER},
  {"setregid", MEHARI_REACH_USER},
  {"setresgid", MEHARI_REACH_USER},
  {"setfsgid", MEHARI_REACH_USER},
  {"setgroups", MEHARI_REACH_USER},
  {"initgroups", MEHARI_REACH_USER},
  {"setrlimit", MEHARI_REACH_LASTING},
  {"setrlimit64", MEHARI_REACH_LASTING},
  {"prlimit", MEHARI_REACH_LASTING},
  {"prlimit64", MEHARI_REACH_LASTING},
  {"sched_setaffinity", MEHARI_REACH_LASTING},
  {"sched_setscheduler", MEHARI_REACH_LASTING},
  {"sched_setparam", MEHARI_REACH_LASTING},
  {"pthread_setaffinity_np", MEHARI_REACH_LASTING},
  {"pthread_setschedparam", MEHARI_REACH_LASTING},
  {"semop", MEHARI_REACH_LASTING},
  {"semtimedop", MEHARI_REACH_LASTING},
  {"chroot", MEHARI_REACH_LASTING},
  {"setns", MEHARI_REACH_LASTING},
  {"personality", MEHARI_REACH_LASTING},
  {"ptrace", MEHARI_REACH_LASTING},
  {"mlockall", MEHARI_REACH_LASTING},
  {"capset", MEHARI_REACH_LASTING},
  {"clone", MEHARI_REACH_ALL},
  {"unshare", MEHARI_REACH_ALL | MEHARI_REACH_LASTING},
  {"syscall", MEHARI_REACH_ALL},
  {"dlsym", MEHARI_REACH_ALL},
  {"dlvsym", MEHARI_REACH_ALL},
};

/* Whether the function returns addresses of other functions, which a library may keep. */
static bool finds_functions(const char *name) { return strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0; }

/* Functions that open or close descriptors. Those of perl's handles (PerlIO_open) are not here,
 * because perl counts them. */
static const char *const of_files[] = {
  "open", "open64", "openat", "openat64", "__open_2", "__open64_2", "__openat_2", "__openat64_2",
  "creat", "creat64", "fopen", "fopen64", "freopen", "freopen64", "tmpfile", "tmpfile64",
  "mkstemp", "mkstemp64", "mkostemp", "mkostemp64", "mkstemps", "mkstemps64", "mkostemps",
  "mkostemps64", "opendir", "fdopendir", "setmntent", "fts_open", "fts64_open", "shm_open",
  "mq_open", "dup", "dup2", "dup3", "fcntl", "fcntl64", "ioctl", "pipe", "pipe2", "socket",
  "socketpair", "accept", "accept4", "recvmsg", "recvmmsg", "__recvmmsg64", "eventfd",
  "epoll_create", "epoll_create1", "inotify_init", "inotify_init1", "fanotify_init", "signalfd",
  "timerfd_create", "memfd_create", "pidfd_open", "open_by_handle_at", "posix_openpt", "getpt",
  "openpty", "openlog", "syslog", "vsyslog", "__syslog_chk", "__vsyslog_chk", "close",
  "close_range", "closefrom", "fclose", "fcloseall", "setpwent",
  "getpwent", "setgrent", "getgrent", "sethostent", "setnetent", "setprotoent", "setservent",
  "Perl_PerlLIO_dup_cloexec", "Perl_PerlLIO_dup2_cloexec", "Perl_PerlLIO_open_cloexec",
  "Perl_PerlLIO_open3_cloexec", "Perl_PerlProc_pipe_cloexec", "Perl_PerlSock_socket_cloexec",
  "Perl_PerlSock_accept_cloexec", "Perl_PerlSock_socketpair_cloexec", "Perl_my_mkstemp_cloexec",
  "Perl_my_mkostemp_cloexec",
};

/* Parts of the paths of libraries whose changes are seen or undone. libcrypto sets handlers only
 * while it asks for a password, and makes system calls for random numbers. libsqlite3, libxml2 and
 * libicuuc use dlsym only for libraries that they load, and a library that is loaded within a
 * request is noticed. libxml2 needs the last three: liblzma changes the signal mask only around the
 * start of a thread, and libstdc++ makes system calls only to wait and to wake. */
static const struct { const char *path; unsigned except; } known[] = {
  {"/libc.so.", 0},
  {"/ld-linux", 0},
  {"/libpthread.so.", 0},
  {"/libperl.so", 0},
  {"/libcrypto.so.", MEHARI_REACH_FILES}, /* its BIO functions open files for other libraries */
  {"/libsqlite3.so.", MEHARI_REACH_FILES | MEHARI_REACH_THREADS},
  {"/libxml2.so.", MEHARI_REACH_FILES},
  {"/libicuuc.so.", MEHARI_REACH_FILES},
  {"/liblzma.so.", MEHARI_REACH_FILES | MEHARI_REACH_THREADS},
  {"/libstdc++.so.", MEHARI_REACH_FILES | MEHARI_REACH_THREADS | MEHARI_REACH_FOLDER},
  {"/auto/Mehari/Mehari.so", 0},
  {"/auto/POSIX/POSIX.so", 0},
  {"/auto/Time/HiRes/HiRes.so", 0},
  {"/auto/threads/threads.so", 0},
  {"/auto/BSD/Resource/Resource.so", 0},
  {"/auto/File/Glob/Glob.so", 0}, /* closes each folder that it opens */
};

/* Returns which changes of a library would neither be seen nor be undone. */
static unsigned unknown_of(const char *path)
{
  if (!*path) /* the program itself: perl */
    return 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strstr(path, known[i].path))
      return known[i].except;
  return MEHARI_REACH_ALL | MEHARI_REACH_LASTING;
}

static unsigned reach_of(const char *name)
{
  for (size_t i = 0; i < sizeof imports / sizeof *imports; i++)
    if (strcmp(name, imports[i].name) == 0)
      return imports[i].reach;
  for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++)
    if (strcmp(name, of_files[i]) == 0)
      return MEHARI_REACH_FILES;
  return 0;
}

typedef struct {
  const ElfW(Sym) *symbols;
  const char *names;
  const ElfW(Rela) *calls, *others; /* relocations; each use of an imported symbol has one */
  size_t calls_size, others_size;
} dynamic;

/* The linker adds the load address to the pointers in the section, but not in the kernel's vdso. */
static const void *pointer(const struct dl_phdr_info *library, ElfW(Addr) value)
{
  return (const void *)(value < library->dlpi_addr ? value + library->dlpi_addr : value);
}

static dynamic read_dynamic(const struct dl_phdr_info *library, const ElfW(Dyn) *entry)
{
  dynamic all = {0};
  for (; entry->d_tag != DT_NULL; entry++)
    switch (entry->d_tag) {
    case DT_SYMTAB: all.symbols = pointer(library, entry->d_un.d_ptr); break;
    case DT_STRTAB: all.names = pointer(library, entry->d_un.d_ptr); break;
    case DT_JMPREL: all.calls = pointer(library, entry->d_un.d_ptr); break;
    case DT_PLTRELSZ: all.calls_size = entry->d_un.d_val; break;
    case DT_RELA: all.others = pointer(library, entry->d_un.d_ptr); break;
    case DT_RELASZ: all.others_size = entry->d_un.d_val; break;
    }
  return all;
}

typedef struct {
  mehari_see_import *see;
  void *to;
  bool watches; /* whether calls shall be noticed from now on */
  const struct dl_phdr_info *library;
  unsigned unknown; /* the state that is neither seen nor undone */
} search;

/* Whether a slot of the library is used for calls alone. The table of system calls in libsqlite3
 * has slots of another kind, from which the library does not copy. */
static bool is_for_calls(const char *path, uint32_t kind)
{
#ifdef __x86_64__
  return kind == R_X86_64_JUMP_SLOT || (kind == R_X86_64_64 && strstr(path, "/libsqlite3.so."));
#else
  return (void)path, (void)kind, false;
#endif
}

static bool is_noticed(const search *this, const ElfW(Rela) *relocation, const char *name, unsigned reach)
{
  const struct dl_phdr_info *library = this->library;
  bool is_known = !(this->unknown & MEHARI_REACH_LASTING);
  if ((finds_functions(name) && !is_known) || !is_for_calls(library->dlpi_name, (uint32_t)relocation->r_info))
    return false;
  if (mehari_rewind_watches(library, relocation->r_offset))
    return true;
  return this->watches && mehari_rewind_watch_calls(library, relocation->r_offset, reach);
}

static void see_relocations(const search *this, const dynamic *library, const ElfW(Rela) *relocations, size_t size)
{
  for (size_t i = 0; relocations && i < size / sizeof *relocations; i++) {
    size_t symbol = relocations[i].r_info >> 32;
    const char *name = symbol ? library->names + library->symbols[symbol].st_name : "";
    unsigned reach = this->unknown & reach_of(name);
    if (reach && !is_noticed(this, &relocations[i], name, reach))
      this->see(this->to, this->library->dlpi_name, name, reach & MEHARI_REACH_ALL);
  }
}

static int see_library(struct dl_phdr_info *library, size_t size, void *argument)
{
  search *this = argument;
  (void)size;
  this->library = library;
  this->unknown = unknown_of(library->dlpi_name);
  for (int i = 0; this->unknown && i < library->dlpi_phnum; i++) {
    if (library->dlpi_phdr[i].p_type != PT_DYNAMIC)
      continue;
    dynamic all = read_dynamic(library, (const void *)(library->dlpi_addr + library->dlpi_phdr[i].p_vaddr));
    if (all.symbols && all.names) {
      see_relocations(this, &all, all.calls, all.calls_size);
      see_relocations(this, &all, all.others, all.others_size);
    }
  }
  return 0;
}

void mehari_rewind_each_import(mehari_see_import *see, void *to)
{
  search this = {.see = see, .to = to};
  dl_iterate_phdr(see_library, &this);
}

static void add_reach(void *to, const char *library, const char *import, unsigned reach)
{
  (void)library, (void)import;
  *(unsigned *)to |= reach;
}

unsigned mehari_rewind_reach(void)
{
#ifdef __x86_64__
  unsigned reach = 0;
  search this = {.see = add_reach, .to = &reach, .watches = true};
  dl_iterate_phdr(see_library, &this);
  return reach;
#else
  return MEHARI_REACH_ALL;
#endif
}

typedef struct {
  char *name;
  size_t size;
} last_name;

/* The linker lists libraries in the order in which they were loaded. */
static int see_name(struct dl_phdr_info *library, size_t size, void *argument)
{
  last_name *last = argument;
  const char *slash = strrchr(library->dlpi_name, '/');
  (void)size;
  if (slash)
    snprintf(last->name, last->size, "%s", slash + 1);
  return 0;
}

void mehari_rewind_last_library(char *name, size_t size)
{
  last_name last = {name, size};
  name[0] = '\0';
  dl_iterate_phdr(see_name, &last);
}

static int see_count(struct dl_phdr_info *library, size_t size, void *count)
{
  (void)size;
  *(uint64_t *)count = library->dlpi_adds;
  return 1;
}

uint64_t mehari_rewind_libraries(void)
{
  uint64_t count = 0;
  dl_iterate_phdr(see_count, &count);
  return count;
}
