/* A perl that is linked with the sanitizers' run-time libraries. The XS can then be built with
 * the sanitizers, and no process needs LD_PRELOAD, which scripts and their children would see.
 * REPORTS is the path of the reports, one file per process.
 *
 * The perl does not search for leaks, because perl leaves its memory to the kernel at its end.
 * The test itself must notice a segmentation fault: some scripts of the corpus crash on purpose. */
#include <EXTERN.h>
#include <perl.h>

#define OPTIONS "log_path=" REPORTS ":handle_segv=0:handle_abort=0:handle_sigill=0:handle_sigfpe=0:handle_sigbus=0"
#define VISIBLE __attribute__((visibility("default"), used, no_sanitize_address))

/* The rung `rewind` maps a file over memory and over its shadow. The sanitizer must not map other
 * memory over the shadow, and must not give memory back: it would find old contents there. */
#define REWIND ":clear_shadow_mmap_threshold=1099511627776:allocator_release_to_os_interval_ms=-1"
VISIBLE const char *__asan_default_options(void)
{
  return OPTIONS REWIND ":detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=1";
}
VISIBLE const char *__ubsan_default_options(void) { return OPTIONS ":print_stacktrace=1:halt_on_error=1"; }

EXTERN_C void xs_init(pTHX);

int main(int argc, char **argv, char **env)
{
  PERL_SYS_INIT3(&argc, &argv, &env);
  PERL_SYS_FPU_INIT;
  PerlInterpreter *my_perl = perl_alloc();
  if (!my_perl)
    return 1;
  perl_construct(my_perl);
  PL_perl_destruct_level = 0;
  PL_exit_flags |= PERL_EXIT_DESTRUCT_END;
  int status = perl_parse(my_perl, xs_init, argc, argv, NULL);
  if (!status)
    perl_run(my_perl);
  status = perl_destruct(my_perl);
  perl_free(my_perl);
  PERL_SYS_TERM();
  return status;
}
