/* Compiles one script in a process that has run nothing else: a template, or the process that
 * explains a script.
 *
 * If compiling a script has effects (BEGIN blocks, local modules), the effects belong to each
 * request, so the template's child compiles such a script. A trial compilation finds this out and
 * ends before the first effect. */
#include "process/process.h"
#include "environment/environment.h"
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include "response/response.h"
#include "script/script.h"
#include "stdio/standard.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void load_modules(pTHX_ void *file)
{
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  mXPUSHp(file, strlen(file));
  PUTBACK;
  call_pv("Mehari::Zygote::load_what_a_script_uses", G_VOID | G_DISCARD | G_EVAL);
  FREETMPS;
  LEAVE;
}

/* Compiles the script on trial in a process that then ends. True: compiling had no effect besides
 * definitions. */
static bool compiles_purely(pTHX_ const char *file, uint32_t *effect)
{
  pid_t trial = mehari_fork_own();
  if (!trial) {
    int status;
    mehari_in_child = true;
    mehari_may_have_spawned = false;
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1); /* the template uses that file too */
    mehari_errors_quiet(true);
    mehari_purity_try(effect);
    mehari_script *script = mehari_script_compile(aTHX_ file, MEHARI_AS_PROGRAM, &status);
    bool pure = script && !script->printed && !mehari_may_have_spawned && mehari_purity_holds() && mehari_purity_of_modules(aTHX);
    _exit(pure ? 0 : 1);
  }
  int status = 1;
  while (trial > 0 && waitpid(trial, &status, 0) < 0 && errno == EINTR)
    ;
  return status == 0;
}

/* Forgets the generator of Math::Random::Secure, which does not notice a fork, so that each request
 * makes its own generator. */
static void forget_shared_generator(pTHX)
{
  SV *generator = get_sv("Math::Random::Secure::RNG", 0);
  if (generator)
    sv_setsv(generator, &PL_sv_undef);
}

mehari_script *mehari_compilation_open(pTHX_ const char *file, uint32_t *effect)
{
  mehari_script *script = NULL;
  int ignored;
  mehari_enter_directory(NULL);
  mehari_enter_directory(file);
  mehari_set_program_name(aTHX_ file);
  mehari_cgi_outside_mod_perl(aTHX);
  mehari_await_main(aTHX);
  if (compiles_purely(aTHX_ file, effect))
    script = mehari_script_compile(aTHX_ file, MEHARI_AS_PROGRAM, &ignored);
  else
    mehari_guard(aTHX_ load_modules, (void *)file, NULL);
  if (script)
    mehari_program_prepare(script);
  forget_shared_generator(aTHX);
  mehari_environment_reserve(aTHX);
  mehari_destructors_note(aTHX);
  return script;
}
