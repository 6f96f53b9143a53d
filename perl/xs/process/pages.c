/* Puts the zygote's memory into large pages. With small pages, each fork copies the page table, and
 * each exit frees the table entry by entry and page by page, on cache lines that all processes
 * share. On the rung `fork` this takes half of a request's time. A large page needs only one entry.
 * After a process has written to part of a large page, the kernel still handles the rest in runs of
 * pages. */
#include "process/process.h"
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE (UINT64_C(2) << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static uint64_t round_up(uint64_t address)
{
  return (address + LARGE - 1) & ~(LARGE - 1);
}

/* Makes memory that is allocated from now on begin with a large page. */
void mehari_pages_align(void)
{
  uint64_t end = (uintptr_t)sbrk(0);
  sbrk((intptr_t)(round_up(end) - end));
}

/* Puts a range into large pages. Returns false if the kernel cannot do this. If only one large page
 * is unavailable now, the next is still tried. */
static bool enlarge(uint64_t from, uint64_t to)
{
  for (uint64_t at = round_up(from); at + LARGE <= to; at += LARGE)
    if (madvise((void *)(uintptr_t)at, LARGE, MADV_COLLAPSE) < 0 && errno == EINVAL)
      return false;
  return true;
}

/* Called once after all modules are loaded, before other processes share the memory. */
void mehari_pages_enlarge(void)
{
  FILE *maps = fopen("/proc/self/maps", "re");
  char line[512];
  unsigned long from, to, inode;
  char mode[5];
  while (maps && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %4s %*s %*s %lu", &from, &to, mode, &inode) == 4 && strEQ(mode, "rw-p") && !inode && !strstr(line, "[stack"))
      if (!enlarge(from, to))
        break;
  if (maps)
    fclose(maps);
}
