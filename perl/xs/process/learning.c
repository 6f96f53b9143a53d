/* Learns which modules the requests of a script load again and again, although a process that is
 * forked or rewound for each request has to forget them. The front names them to the next zygote
 * (Mehari::Learned), and the script's next template loads them before its requests. */
#include "process/process.h"
#include "interpreter/interpreter.h"
#include "response/response.h"
#include "stdio/standard.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static HV *known; /* %INC before the first request */

/* ---- the template ---- */

/* Loads a module in a process that then ends. True: loading has changed nothing that other code
 * would notice. */
static bool is_harmless(pTHX_ SV *module)
{
  pid_t trial = mehari_fork_own();
  if (!trial) {
    mehari_in_child = true;
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
    mehari_errors_quiet(true);
    _exit(mehari_ask_perl(aTHX_ "Mehari::Learned::changes_nothing_else", module) ? 0 : 1);
  }
  int status = 1;
  while (trial > 0 && waitpid(trial, &status, 0) < 0 && errno == EINTR)
    ;
  return status == 0;
}

static void load_for(pTHX_ void *script)
{
  SV *file = sv_2mortal(newSVpv((const char *)script, 0));
  SV *module;
  dSP;
  for (;;) {
    PUSHMARK(SP);
    XPUSHs(file);
    PUTBACK;
    int count = call_pv("Mehari::Learned::next_for", G_SCALAR | G_EVAL);
    SPAGAIN;
    module = count == 1 ? POPs : &PL_sv_undef;
    PUTBACK;
    if (!SvOK(module))
      return;
    module = sv_mortalcopy(module);
    if (is_harmless(aTHX_ module))
      mehari_ask_perl(aTHX_ "Mehari::Learned::load", module);
    SPAGAIN;
  }
}

void mehari_learning_open(pTHX_ const char *script)
{
  ENTER;
  SAVETMPS;
  if (get_cv("Mehari::Learned::next_for", 0))
    mehari_guard(aTHX_ load_for, (void *)script, NULL);
  FREETMPS;
  LEAVE;
  known = newHVhv(GvHVn(PL_incgv));
}

/* ---- its child, at the end of each request ---- */

#define MOST 16 /* modules of one report; later requests report the others */

/* A name as `require Some::Module` makes it. The front and the zygote check names and files again,
 * because a script can write anything to %INC. */
static bool is_module(const char *name, STRLEN length)
{
  if (length < 4 || length > 128 || memNE(name + length - 3, ".pm", 3))
    return false;
  for (STRLEN i = 0; i < length - 3; i++)
    if (!isWORDCHAR_A(name[i]) && name[i] != '/')
      return false;
  return true;
}

void mehari_learning_report(pTHX_ const char *script)
{
  HV *now = GvHV(PL_incgv);
  if (!known || !now || SvTYPE((SV *)now) != SVt_PVHV || SvRMAGICAL((SV *)now) || HvTOTALKEYS(now) <= HvTOTALKEYS(known))
    return;
  mehari_text parts[1 + 4 * MOST] = {{script, strlen(script)}};
  const mehari_text nul = {"", 1};
  int count = 1;
  STRLEN whole = parts[0].length;
  hv_iterinit(now);
  for (HE *entry; count + 4 <= (int)C_ARRAY_LENGTH(parts) && (entry = hv_iternext(now));) {
    STRLEN length;
    const char *name = HePV(entry, length);
    SV *file = HeVAL(entry);
    if (!is_module(name, length) || hv_exists_ent(known, hv_iterkeysv(entry), 0) || !SvPOK(file) || memchr(SvPVX(file), 0, SvCUR(file)))
      continue;
    whole += length + SvCUR(file) + 2;
    if (whole >= MEHARI_RECORD_LIMIT)
      break;
    parts[count++] = nul;
    parts[count++] = (mehari_text){name, length};
    parts[count++] = nul;
    parts[count++] = (mehari_text){SvPVX(file), SvCUR(file)};
  }
  if (count > 1)
    mehari_ring_put(MEHARI_RECORD_MODULES, 0, parts, count);
}
