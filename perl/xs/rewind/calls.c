/* Notices the calls by which libraries change state of the kernel, so that a rewind checks only
 * the state for which a function was called. reach.c finds the imports of such functions.
 *
 * A library calls an imported function through a slot, into which the linker has written the
 * function's address. The template replaces the address by that of a stub. The stub notes the call
 * and jumps to the function with all arguments in place. Only slots of the linker's kind JUMP_SLOT
 * are replaced: a library uses such a slot for calls alone, so nobody has a copy of the address. */
#include "rewind/state.h"
#include <link.h>
#include <sys/mman.h>

#ifdef __x86_64__

#define STUB_SIZE 32
#define TEXT(number) #number
#define TEXT_OF(number) TEXT(number)

/* Stub N ors `mehari_stub_reach[N]` to `mehari_called`, and jumps to `mehari_stub_target[N]`. The
 * register r11 is free between a call and its function. */
__asm__(".text\n\t"
        ".p2align 5\n"
        "mehari_stubs:\n\t"
        ".set number, 0\n\t"
        ".rept " TEXT_OF(MEHARI_REWIND_CALLS) "\n\t"
        ".p2align 5\n\t"
        "movl mehari_stub_reach+4*number(%rip), %r11d\n\t"
        "lock orl %r11d, mehari_called(%rip)\n\t"
        "jmp *mehari_stub_target+8*number(%rip)\n\t"
        ".set number, number+1\n\t"
        ".endr\n\t"
        ".p2align 5\n\t"
        ".previous\n");

#define OF_STUBS __attribute__((visibility("hidden")))
extern const char mehari_stubs[] OF_STUBS;
/* A rewind sets this variable back, as all memory. */
OF_STUBS unsigned mehari_called; /* MEHARI_REACH_* */
OF_STUBS uint32_t mehari_stub_reach[MEHARI_REWIND_CALLS];
OF_STUBS uint64_t mehari_stub_target[MEHARI_REWIND_CALLS];
static uint64_t *slots[MEHARI_REWIND_CALLS];
static int slot_count;

static uint64_t stub(int number) { return (uint64_t)(uintptr_t)mehari_stubs + (uint64_t)number * STUB_SIZE; }

static bool is_within(const ElfW(Phdr) *part, uint64_t offset)
{
  return offset >= part->p_vaddr && offset - part->p_vaddr < part->p_memsz;
}

/* Whether the slot may be written. The linker has made a page of the part RELRO read-only if the
 * page ends within the part. */
static bool find_protection(const struct dl_phdr_info *library, uint64_t offset, bool *is_read_only)
{
  bool is_writable = false;
  *is_read_only = false;
  for (int i = 0; i < library->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &library->dlpi_phdr[i];
    if (part->p_type == PT_LOAD && is_within(part, offset))
      is_writable = part->p_flags & PF_W;
    uint64_t end = (library->dlpi_addr + part->p_vaddr + part->p_memsz) & ~(MEHARI_PAGE - 1);
    if (part->p_type == PT_GNU_RELRO && is_within(part, offset))
      *is_read_only = library->dlpi_addr + offset < end;
  }
  return is_writable;
}

static bool write_slot(uint64_t *slot, uint64_t value, bool is_read_only)
{
  void *page = (void *)((uintptr_t)slot & ~(uintptr_t)(MEHARI_PAGE - 1));
  if (is_read_only && mprotect(page, MEHARI_PAGE, PROT_READ | PROT_WRITE) < 0)
    return false;
  *slot = value;
  if (is_read_only)
    mprotect(page, MEHARI_PAGE, PROT_READ);
  return true;
}

bool mehari_rewind_watch_calls(const struct dl_phdr_info *library, uint64_t offset, unsigned reach)
{
  uint64_t *slot = (uint64_t *)(library->dlpi_addr + offset);
  bool is_read_only;
  if (slot_count == MEHARI_REWIND_CALLS || !find_protection(library, offset, &is_read_only))
    return false;
  mehari_stub_reach[slot_count] = reach;
  mehari_stub_target[slot_count] = *slot;
  if (!write_slot(slot, stub(slot_count), is_read_only))
    return false;
  slots[slot_count++] = slot;
  return true;
}

bool mehari_rewind_watches(const struct dl_phdr_info *library, uint64_t offset)
{
  uint64_t value = *(const uint64_t *)(library->dlpi_addr + offset);
  return slot_count && value >= stub(0) && value < stub(slot_count);
}

/* The linker looks a function up at the first call if it has not done so before, and writes the
 * function's address into the slot. */
unsigned mehari_rewind_forget_calls(void)
{
  unsigned unwatched = 0;
  for (int i = 0; i < slot_count; i++)
    if (*slots[i] != stub(i))
      unwatched |= mehari_stub_reach[i];
  mehari_called = 0;
  return unwatched;
}

unsigned mehari_rewind_called(void) { return mehari_called; }

#else

bool mehari_rewind_watch_calls(const struct dl_phdr_info *library, uint64_t offset, unsigned reach) { return (void)library, (void)offset, (void)reach, false; }
bool mehari_rewind_watches(const struct dl_phdr_info *library, uint64_t offset) { return (void)library, (void)offset, false; }
unsigned mehari_rewind_forget_calls(void) { return 0; }
unsigned mehari_rewind_called(void) { return 0; }

#endif
