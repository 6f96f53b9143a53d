/* The stack aside: the second stack, on which the restoring code runs, because code cannot restore
 * the stack on which it runs. Only this file has lines of assembly. On other processors
 * `mehari_rewind_is_possible` is false. */
#include "rewind/state.h"

#ifdef __x86_64__

__attribute__((noinline)) void mehari_rewind_on_own_stack(void (*work)(mehari_rewind *), mehari_rewind *rewind)
{
  char *top = rewind->stack + sizeof rewind->stack;
  /* The register rbx keeps its value during the call. */
  __asm__ volatile("mov %%rsp, %%rbx\n\t"
                   "mov %[top], %%rsp\n\t"
                   "call *%[work]\n\t"
                   "mov %%rbx, %%rsp"
                   : "+D"(rewind), [work] "+a"(work)
                   : [top] "d"(top)
                   : "rbx", "rcx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                     "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

/* Saves the rounding mode and similar state, which POSIX::fesetround changes. */
static void see_float(mehari_rewind *rewind)
{
  __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(rewind->mxcsr), "=m"(rewind->control_word));
}

static void put_back_float(mehari_rewind *rewind)
{
  __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(rewind->mxcsr), "m"(rewind->control_word));
}

#else

void mehari_rewind_on_own_stack(void (*work)(mehari_rewind *), mehari_rewind *rewind) { work(rewind); }
static void see_float(mehari_rewind *rewind) { (void)rewind; }
static void put_back_float(mehari_rewind *rewind) { (void)rewind; }

#endif

/* Saves the place to which each rewind returns. The callee-saved registers are in this frame,
 * and the frame is in the picture. */
__attribute__((noinline)) bool mehari_rewind_mark(mehari_rewind *rewind, void (*work)(mehari_rewind *))
{
  see_float(rewind);
  if (__builtin_setjmp(rewind->back))
    return true;
  mehari_rewind_on_own_stack(work, rewind);
  return false;
}

__attribute__((noinline)) void mehari_rewind_return(mehari_rewind *rewind)
{
  put_back_float(rewind);
  __builtin_longjmp(rewind->back, 1);
}
