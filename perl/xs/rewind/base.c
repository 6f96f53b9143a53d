/* The base picture: the memory with which all templates begin, in a memory file. Most pages of a
 * template stay as they were then. A template's picture therefore holds only the pages that differ,
 * and all others are mapped from the base picture, which exists once (picture.c).
 *
 * The process that forks templates has the base picture taken before it forks the first template
 * that may rewind. Nobody changes the base picture. Without it, each picture holds all pages. */
#include "rewind/rewind.h"
#include "rewind/state.h"
#include "process/process.h"
#include "interpreter/interpreter.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static mehari_rewind *base;

const mehari_rewind *mehari_rewind_base(void) { return base; }

uint32_t mehari_rewind_base_page(uint64_t at, uint32_t *hint)
{
  for (uint32_t tries = 0; base && tries < base->range_count; tries++, ++*hint) {
    if (*hint >= base->range_count)
      *hint = 0;
    const mehari_range *range = &base->ranges[*hint];
    if (at >= range->start && at < range->end)
      return range->first + (at - range->start) / MEHARI_PAGE;
  }
  return MEHARI_REWIND_PAGES;
}

/* Maps all pages of the file here, too. The kernel then counts them as shared with this process. */
static void hold(const mehari_rewind *all)
{
  for (uint32_t page = 0; page < all->pages; page++)
    if (!(all->state[page] & MEHARI_PAGE_ZERO))
      (void)*(const volatile char *)(all->image + page * MEHARI_PAGE);
}

/* Copies the table of a picture to memory that no other process can change. */
static mehari_rewind *keep(const mehari_rewind *made)
{
  mehari_rewind *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED)
    return NULL;
  all->picture = made->picture;
  all->pages = made->pages;
  all->range_count = made->range_count;
  memcpy(all->ranges, made->ranges, made->range_count * sizeof *made->ranges);
  memcpy(all->state, made->state, made->pages);
  all->image = mmap(NULL, all->pages * MEHARI_PAGE, PROT_READ, MAP_PRIVATE, all->picture, 0);
  /* The memory of templates that is not writable does not belong to their pictures. */
  if (all->image != MAP_FAILED && mprotect(all, sizeof *all, PROT_READ) == 0)
    return all;
  munmap(all, sizeof *all);
  return NULL;
}

/* Takes the picture in a process of its own, which first tidies its memory and looks for
 * destructors, as each template does. So what these change is in the base picture, too. */
static bool make(pTHX_ mehari_rewind *rewind)
{
  int status = -1;
  pid_t maker = mehari_fork_own();
  if (!maker) {
    mehari_rewind_tidy(aTHX_ false);
    mehari_destructors_note(aTHX);
    mehari_destructors_note_names(aTHX);
    _exit(mehari_rewind_lay_out(rewind) || !mehari_rewind_fill(rewind));
  }
  mehari_in_child = false;
  while (maker > 0 && waitpid(maker, &status, 0) < 0 && errno == EINTR)
    ;
  return status == 0;
}

void mehari_rewind_take_base(pTHX_ uint64_t most_pages)
{
  mehari_rewind *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED)
    return;
  made->owner = getpid();
  made->most_pages = most_pages;
  made->picture = mehari_rewind_make_file();
  base = made->picture >= 0 && make(aTHX_ made) ? keep(made) : NULL;
  if (base)
    hold(base);
  else {
    mehari_pictures_release(made->owner);
    made->image = NULL; /* an address in the other process */
    mehari_rewind_drop_file(made);
  }
  munmap(made, sizeof *made);
}

void mehari_pictures_leave(void)
{
  if (!base)
    return;
  mehari_descriptor_release(base->picture);
  close(base->picture);
  munmap((void *)base->image, base->pages * MEHARI_PAGE);
  munmap(base, sizeof *base);
  base = NULL;
}
