/* Makes system calls and reads texts of /proc without libc. The functions write only to their
 * arguments. */
#include "rewind/state.h"
#include <sys/syscall.h>

long mehari_system_call(long number, long a, long b, long c, long d, long e, long f)
{
#ifdef __x86_64__
  long result;
  register long fourth __asm__("r10") = d, fifth __asm__("r8") = e, sixth __asm__("r9") = f;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth) : "rcx", "r11", "memory");
  return result;
#else
  (void)number, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
  return -1;
#endif
}

size_t mehari_proc_read(int file, char *into, size_t size)
{
  size_t have = 0;
  long got;
  while (have < size - 1 && (got = KERNEL(SYS_pread64, file, into + have, size - 1 - have, have)) > 0)
    have += got;
  into[have] = '\0';
  return have;
}

static unsigned digit(char c)
{
  return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 99;
}

size_t mehari_proc_read_once(int file, char *into, size_t size)
{
  long got = KERNEL(SYS_pread64, file, into, size - 1, 0);
  size_t have = got > 0 ? got : 0;
  into[have] = '\0';
  return have;
}

uint64_t mehari_proc_number(const char **at, unsigned base)
{
  uint64_t value = 0;
  for (; digit(**at) < base; (*at)++)
    value = value * base + digit(**at);
  return value;
}

const char *mehari_proc_skip(const char *at, int words)
{
  while (words--) {
    while (*at && *at != ' ')
      at++;
    while (*at == ' ')
      at++;
  }
  return at;
}

void mehari_rewind_refuse(mehari_rewind *rewind, const char *why)
{
  if (rewind->spoiled[0])
    return;
  for (size_t i = 0; i + 1 < sizeof rewind->spoiled && why[i]; i++)
    rewind->spoiled[i] = why[i];
}
