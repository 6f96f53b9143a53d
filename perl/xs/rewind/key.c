/* A protection key (pkeys(7)) for the memory that a rewind trusts and never restores: the control
 * region (state.h), and what a template shares with its child and with the zygote. While a script
 * runs, the key is closed, and a write to this memory ends the process by SIGSEGV. The pictures
 * need no key, because nobody can write to them.
 *
 * The server's own code opens the key before it writes there. The kernel closes all keys of a
 * process for its signal handlers, which may call this code, too. Without keys in the processor and
 * the kernel, the functions do nothing. */
#include "rewind/rewind.h"
#include "rewind/state.h"
#include <sys/mman.h>

#ifdef __x86_64__
#include <cpuid.h>

static int key;
static uint32_t closed; /* PKRU, the register of the keys, while the key is closed; 0: no key */

static void set_keys(uint32_t rights) { __asm__ volatile("wrpkru" : : "a"(rights), "c"(0), "d"(0) : "memory"); }

/* Whether the processor has keys and the kernel uses them. A filter of system calls may end a
 * process that asks the kernel. */
static bool has_keys(void)
{
  unsigned a, b, c = 0, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && c & bit_OSPKE;
}

void mehari_key_take(void)
{
  key = has_keys() ? KERNEL(SYS_pkey_alloc, 0, PKEY_DISABLE_WRITE) : 0;
  if (key > 0)
    __asm__ volatile("rdpkru" : "=a"(closed) : "c"(0) : "rdx");
  mehari_key_open();
}

void mehari_key_guard(void *at, size_t size)
{
  if (closed)
    KERNEL(SYS_pkey_mprotect, at, size, PROT_READ | PROT_WRITE, key);
}

/* Opens all keys: a rewind restores memory that a library has closed, too. */
void mehari_key_open(void)
{
  if (closed)
    set_keys(0);
}

void mehari_key_close(void)
{
  if (closed)
    set_keys(closed);
}

#else

void mehari_key_take(void) {}
void mehari_key_guard(void *at, size_t size) { (void)at, (void)size; }
void mehari_key_open(void) {}
void mehari_key_close(void) {}

#endif
