/* The memory map of a rewound process: reads the picture's ranges, and restores a changed map.
 * Two numbers of /proc/self/statm show a change: the size of all mappings, and the size of
 * private writable mappings. They are read after a page fault only, and /proc/self/maps only if one
 * of them differs. */
#include "rewind/state.h"
#include <sys/mman.h>
#include <sys/syscall.h>

typedef struct {
  uint64_t start, end;
  bool readable, writable, executable, is_private;
  bool is_of_kernel; /* [vvar], [vdso], [vsyscall] */
  bool is_of_picture; /* memory that was mapped from a picture */
} line;

/* Reads the next line of /proc/self/maps. False: there is none. */
static bool next_line(const char **at, line *into)
{
  if (!**at)
    return false;
  into->start = mehari_proc_number(at, 16);
  ++*at;
  into->end = mehari_proc_number(at, 16);
  const char *mode = ++*at;
  into->readable = mode[0] == 'r';
  into->writable = mode[1] == 'w';
  into->executable = mode[2] == 'x';
  into->is_private = mode[3] == 'p';
  static const char picture[] = "/memfd:mehari ";
  const char *name = mehari_proc_skip(mode, 4);
  size_t same = 0;
  while (picture[same] && name[same] == picture[same])
    same++;
  into->is_of_picture = into->writable && into->is_private && !picture[same];
  into->is_of_kernel = into->start >> 47 || (name[0] == '[' && name[1] == 'v');
  while (**at && **at != '\n')
    ++*at;
  if (**at)
    ++*at;
  return true;
}

static bool add_range(mehari_rewind *rewind, const line *this)
{
  uint64_t start = this->start, pages;
  if (rewind->stack_floor > this->start && rewind->stack_floor < this->end)
    /* Stack memory below the floor is unused, and the stack must be able to grow into this
     * memory. */
    start = rewind->stack_floor;
  pages = (this->end - start) / MEHARI_PAGE;
  if (rewind->range_count == MEHARI_REWIND_RANGES || pages > MEHARI_REWIND_PAGES - rewind->pages)
    return false;
  int protection = (this->readable ? PROT_READ : 0) | PROT_WRITE | (this->executable ? PROT_EXEC : 0);
  rewind->ranges[rewind->range_count++] = (mehari_range){start, this->end, rewind->pages, protection};
  rewind->pages += pages;
  return true;
}

/* Adds the shadow of each range in a build with AddressSanitizer. */
static bool add_shadow(mehari_rewind *rewind)
{
#ifdef MEHARI_ADDRESS_SANITIZER
  line shadow = {.readable = true, .writable = true, .is_private = true};
  uint32_t count = rewind->range_count;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t covered = shadow.end;
    mehari_rewind_find_shadow(&rewind->ranges[i], &shadow.start, &shadow.end);
    if (shadow.start < covered)
      shadow.start = covered; /* neighbours share a page of shadow */
    if (shadow.end > shadow.start && !add_range(rewind, &shadow))
      return false;
  }
#else
  (void)rewind;
#endif
  return true;
}

static bool is_wiped(const mehari_rewind *rewind, uint64_t start)
{
  for (uint32_t i = 0; i < rewind->wiped_count; i++)
    if (rewind->wiped[i].start == start)
      return true;
  return false;
}

/* Whether this is memory that a request may change and a rewind restores from the picture. */
static bool is_to_restore(const mehari_rewind *rewind, const line *this)
{
  bool is_left_out = this->is_of_kernel || mehari_rewind_is_shadow(this->start) || is_wiped(rewind, this->start);
  return !is_left_out && this->writable && this->is_private;
}

static bool read_maps(mehari_rewind *rewind)
{
  return mehari_proc_read(rewind->maps, rewind->text, sizeof rewind->text) < sizeof rewind->text - 1;
}

bool mehari_rewind_read_ranges(mehari_rewind *rewind)
{
  const char *at = rewind->text;
  line this;
  rewind->range_count = rewind->pages = 0;
  if (!read_maps(rewind))
    return false;
  while (next_line(&at, &this))
    if (is_to_restore(rewind, &this) && !add_range(rewind, &this))
      return false;
  return add_shadow(rewind);
}

bool mehari_rewind_read_mappings(mehari_rewind *rewind)
{
  const char *at = rewind->text;
  line this;
  rewind->mapping_count = 0;
  if (!read_maps(rewind))
    return false;
  while (next_line(&at, &this)) {
    if (rewind->mapping_count == MEHARI_REWIND_MAPPINGS)
      return false;
    rewind->mappings[rewind->mapping_count].start = this.start;
    rewind->mappings[rewind->mapping_count++].end = this.end;
  }
  return true;
}

/* Returns the end of the range with this address. 0: the picture has no such memory. `first`: the
 * first range that may have this address or a higher one. */
static uint64_t end_of_range(const mehari_rewind *rewind, uint64_t at, uint32_t *first)
{
  while (*first < rewind->range_count && rewind->ranges[*first].end <= at)
    ++*first;
  bool is_there = *first < rewind->range_count && rewind->ranges[*first].start <= at;
  return is_there ? rewind->ranges[*first].end : 0;
}

/* Memory that was mapped after the picture would keep what a request writes there. */
bool mehari_rewind_has_all_memory(const mehari_rewind *rewind)
{
  const char *text = rewind->text;
  line this;
  uint32_t first = 0;
  while (next_line(&text, &this)) {
    if (!is_to_restore(rewind, &this))
      continue;
    bool has_floor = this.start < rewind->stack_floor && this.end >= rewind->stack_floor;
    for (uint64_t at = has_floor ? rewind->stack_floor : this.start; at < this.end;)
      if (!(at = end_of_range(rewind, at, &first)))
        return false;
  }
  return true;
}

static int protection_of(const mehari_rewind *rewind, uint64_t at)
{
  for (uint32_t i = 0; i < rewind->range_count; i++)
    if (at >= rewind->ranges[i].start && at < rewind->ranges[i].end)
      return rewind->ranges[i].protection;
  return PROT_READ | PROT_WRITE;
}

/* Returns the end of the part, from `at` on, that lies together in one of the two files. */
static uint64_t end_of_part(const mehari_rewind *rewind, uint32_t page, uint64_t at, uint64_t end)
{
  bool is_of_base = rewind->state[page] & MEHARI_PAGE_BASE;
  for (uint32_t first = page; at < end; at += MEHARI_PAGE, page++) {
    if (is_of_base != !!(rewind->state[page] & MEHARI_PAGE_BASE))
      return at;
    if (is_of_base && rewind->base_page[page] - rewind->base_page[first] != page - first)
      return at;
  }
  return end;
}

static bool map_range(const mehari_rewind *rewind, const mehari_range *range, uint64_t end)
{
  for (uint64_t at = range->start, next; at < end; at = next) {
    uint32_t page = range->first + (at - range->start) / MEHARI_PAGE;
    bool is_of_base = rewind->state[page] & MEHARI_PAGE_BASE;
    next = end_of_part(rewind, page, at, end);
    int file = is_of_base ? mehari_rewind_base()->picture : rewind->picture;
    uint32_t from = is_of_base ? rewind->base_page[page] : page;
    if (KERNEL(SYS_mmap, at, next - at, range->protection, MAP_PRIVATE | MAP_FIXED, file, from * MEHARI_PAGE) != (long)at)
      return false;
  }
  return true;
}

bool mehari_rewind_map_picture(mehari_rewind *rewind)
{
  for (uint32_t i = 0; i < rewind->range_count; i++) {
    const mehari_range *range = &rewind->ranges[i];
    bool has_arguments = rewind->arguments > range->start && rewind->arguments < range->end;
    if (has_arguments)
      rewind->arguments_end = range->end;
    if (!map_range(rewind, range, has_arguments ? rewind->arguments : range->end))
      return false;
  }
  return true;
}

bool mehari_rewind_map_own(mehari_rewind *rewind)
{
  for (uint32_t i = 0, end; i < rewind->own_count; i = end) {
    uint64_t at = rewind->own_at[i];
    for (end = i + 1; end < rewind->own_count && rewind->own_at[end] == at + (end - i) * MEHARI_PAGE; end++)
      if (mehari_rewind_is_of_process(rewind, rewind->own_at[end]))
        break;
    if (mehari_rewind_is_of_process(rewind, at)) {
      end = i + 1;
      continue;
    }
    long mapped = KERNEL(SYS_mmap, at, (end - i) * MEHARI_PAGE, protection_of(rewind, at), MAP_PRIVATE | MAP_FIXED, rewind->own_picture, i * MEHARI_PAGE);
    if (mapped != (long)at)
      return false;
  }
  return true;
}

/* ---- put back ---- */

static void read_sizes(mehari_rewind *rewind, uint64_t *size, uint64_t *data)
{
  char text[256];
  mehari_proc_read_once(rewind->statm, text, sizeof text);
  const char *at = text;
  *size = mehari_proc_number(&at, 10);
  at = mehari_proc_skip(text, 5);
  *data = mehari_proc_number(&at, 10);
}

/* Returns the size of the memory that is still mapped from the pictures, in a build with
 * AddressSanitizer: its malloc may unmap memory of the picture and map other memory in its place.
 * The malloc of other builds does not unmap memory (tidy.c). */
static uint64_t size_of_pictures(mehari_rewind *rewind)
{
  uint64_t size = 0;
#ifdef MEHARI_ADDRESS_SANITIZER
  const char *at = rewind->text;
  line this;
  if (read_maps(rewind))
    while (next_line(&at, &this))
      size += this.is_of_picture ? this.end - this.start : 0;
#else
  (void)rewind;
#endif
  return size;
}

void mehari_rewind_note_sizes(mehari_rewind *rewind)
{
  read_sizes(rewind, &rewind->vm_size, &rewind->vm_data);
  rewind->vm_pictures = size_of_pictures(rewind);
}

/* Whether a range is the part of the stack below the floor. This part does not belong to the
 * picture. */
static bool is_stack(const mehari_rewind *rewind, uint64_t start, uint64_t end)
{
  return end == rewind->stack_floor && start < end;
}

static void unmap(uint64_t start, uint64_t end)
{
  KERNEL(SYS_munmap, start, end - start);
  mehari_rewind_forget_shadow(start, end);
}

/* Unmaps the parts of this line that are not in the picture. `first`: the first known mapping that
 * may be in this line or in one of the lines that follow. */
static void take_strangers_away(mehari_rewind *rewind, const line *this, uint32_t *first)
{
  uint64_t covered = this->start;
  while (*first < rewind->mapping_count && rewind->mappings[*first].end <= this->start)
    ++*first;
  for (uint32_t i = *first; i < rewind->mapping_count && covered < this->end; i++) {
    uint64_t start = rewind->mappings[i].start, end = rewind->mappings[i].end;
    if (start > covered)
      unmap(covered, start < this->end ? start : this->end);
    covered = end;
  }
  if (covered < this->end)
    unmap(covered, this->end);
}

/* Empties the part of memory into which the stack may have grown, and treats this part as known
 * from now on. Returns the number of its pages. */
static uint64_t empty_stack(mehari_rewind *rewind, const line *this)
{
  uint64_t grown = 0;
  for (uint32_t i = 0; i < rewind->mapping_count; i++)
    if (rewind->mappings[i].end == this->end && rewind->mappings[i].start > this->start) {
      grown = (rewind->mappings[i].start - this->start) / MEHARI_PAGE;
      rewind->mappings[i].start = this->start;
    }
  KERNEL(SYS_madvise, this->start, this->end - this->start, MADV_DONTNEED);
  return grown;
}

static bool sizes_are_as_before(mehari_rewind *rewind)
{
  uint64_t size, data;
  read_sizes(rewind, &size, &data);
  return size == rewind->vm_size && data == rewind->vm_data && size_of_pictures(rewind) == rewind->vm_pictures;
}

static void repair(mehari_rewind *rewind)
{
  const char *at = rewind->text;
  line this;
  uint32_t first = 0;
  rewind->repairs++;
  if (!read_maps(rewind)) {
    mehari_rewind_refuse(rewind, "it made more mappings than can be looked through");
    return;
  }
  while (next_line(&at, &this))
    if (is_stack(rewind, this.start, this.end)) {
      uint64_t grown = empty_stack(rewind, &this);
      rewind->vm_size += grown;
      rewind->vm_data += grown;
    } else if (!this.is_of_kernel) {
      take_strangers_away(rewind, &this, &first);
      if (this.writable && this.is_private)
        mehari_rewind_shrink_reserve(rewind, this.start, this.end);
    }
  if (sizes_are_as_before(rewind))
    return;
  /* A part of the map is missing or no longer writable. */
  if (!mehari_rewind_map_picture(rewind) || !mehari_rewind_map_own(rewind) || !sizes_are_as_before(rewind))
    mehari_rewind_refuse(rewind, "it changed the memory map");
}

/* A new mapping, or a longer stack, cannot be used without a page fault. `looks` is therefore false
 * only if nothing was mapped, or a mapping was not used and is found later. */
void mehari_rewind_put_back_mappings(mehari_rewind *rewind, bool looks)
{
  uint64_t brk = looks || rewind->has_moved_break ? KERNEL(SYS_brk, 0) : rewind->brk;
  if (brk != rewind->brk && (brk < rewind->brk || (uint64_t)KERNEL(SYS_brk, rewind->brk) != rewind->brk))
    mehari_rewind_refuse(rewind, "it moved the end of the heap where it cannot be moved back from");
  if (looks && !rewind->spoiled[0] && !sizes_are_as_before(rewind))
    repair(rewind);
}
