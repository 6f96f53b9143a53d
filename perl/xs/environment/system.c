/* Makes C's environ from %ENV for a child process that is about to start. */
#include "environment/environment.h"
#include "mailbox/mailbox.h"
#include <unistd.h>

extern char **environ;

/* Between export and restore, environ is the array `built`. During this time neither perl nor C
 * libraries change environ. */
static char **built, **kept;

static char *line_of(pTHX_ HE *entry)
{
  STRLEN name_length, value_length = 0;
  const char *name = HePV(entry, name_length), *value = SvOK(HeVAL(entry)) ? SvPV_nomg(HeVAL(entry), value_length) : "";
  char *line;
  Newx(line, name_length + value_length + 2, char);
  memcpy(line, name, name_length);
  line[name_length] = '=';
  memcpy(line + name_length + 1, value, value_length);
  line[name_length + 1 + value_length] = '\0';
  return line;
}

/* Builds environ from %ENV. If the script has tied %ENV, the child gets the contents of the
 * underlying hash, because a tie works only in the script's Perl code. */
void mehari_environment_export(pTHX)
{
  if (built)
    return;
  HV *env = GvHVn(PL_envgv);
  U32 magic = SvFLAGS(env) & (SVs_RMG | SVs_SMG | SVs_GMG);
  SvFLAGS(env) &= ~magic;
  int room = hv_iterinit(env), count = 0;
  Newx(built, room + 1, char *);
  HE *entry;
  while (count < room && (entry = hv_iternext(env)))
    built[count++] = line_of(aTHX_ entry);
  built[count] = NULL;
  SvFLAGS(env) |= magic;
  kept = environ;
  environ = built;
}

void mehari_environment_restore(void)
{
  if (!built || mehari_in_child)
    return;
  environ = kept;
  for (char **each = built; *each; each++)
    Safefree(*each);
  Safefree(built);
  built = NULL;
}
