/* Finds out which state of the kernel the loaded libraries are able to change, so that a rewind
 * checks only this state. A library that does not import `setitimer` and the like sets no timer.
 *
 * The operators of perl, and the subs of the modules in the list `known`, are not counted: the
 * server notices each of their changes (interpreter/operators.c, process/watch.c). A library that
 * is loaded during a request may change anything. */
#include "rewind/state.h"
#include <link.h>
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
  {"posix_spawn", MEHARI_REACH_CHILDREN},
  {"posix_spawnp", MEHARI_REACH_CHILDREN},
  {"system", MEHARI_REACH_CHILDREN},
  {"popen", MEHARI_REACH_CHILDREN},
  {"chdir", MEHARI_REACH_FOLDER},
  {"fchdir", MEHARI_REACH_FOLDER},
  {"umask", MEHARI_REACH_FOLDER},
  {"clone", MEHARI_REACH_ALL},
  {"unshare", MEHARI_REACH_ALL},
  {"syscall", MEHARI_REACH_ALL},
  {"dlsym", MEHARI_REACH_ALL},
  {"dlvsym", MEHARI_REACH_ALL},
};

/* Parts of the paths of libraries whose changes are seen or undone. libcrypto sets handlers only
 * while it asks for a password, and makes system calls for random numbers. */
static const char *const known[] = {"/libc.so.", "/ld-linux", "/libpthread.so.", "/libperl.so", "/libcrypto.so.", "/auto/Mehari/Mehari.so",
                                    "/auto/POSIX/POSIX.so", "/auto/Time/HiRes/HiRes.so", "/auto/threads/threads.so", "/auto/BSD/Resource/Resource.so"};

static bool is_known(const char *path)
{
  if (!*path) /* the program itself: perl */
    return true;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strstr(path, known[i]))
      return true;
  return false;
}

static unsigned reach_of(const char *name)
{
  for (size_t i = 0; i < sizeof imports / sizeof *imports; i++)
    if (strcmp(name, imports[i].name) == 0)
      return imports[i].reach;
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

static unsigned reach_by(const dynamic *library, const ElfW(Rela) *relocations, size_t size)
{
  unsigned reach = 0;
  for (size_t i = 0; relocations && i < size / sizeof *relocations; i++) {
    size_t symbol = relocations[i].r_info >> 32;
    if (symbol)
      reach |= reach_of(library->names + library->symbols[symbol].st_name);
  }
  return reach;
}

static int see_library(struct dl_phdr_info *library, size_t size, void *reach)
{
  (void)size;
  for (int i = 0; !is_known(library->dlpi_name) && i < library->dlpi_phnum; i++) {
    if (library->dlpi_phdr[i].p_type != PT_DYNAMIC)
      continue;
    dynamic all = read_dynamic(library, (const void *)(library->dlpi_addr + library->dlpi_phdr[i].p_vaddr));
    if (all.symbols && all.names)
      *(unsigned *)reach |= reach_by(&all, all.calls, all.calls_size) | reach_by(&all, all.others, all.others_size);
  }
  return 0;
}

unsigned mehari_rewind_reach(void)
{
#ifdef __x86_64__
  unsigned reach = 0;
  dl_iterate_phdr(see_library, &reach);
  return reach;
#else
  return MEHARI_REACH_ALL;
#endif
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
