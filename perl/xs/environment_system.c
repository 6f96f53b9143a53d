/* C's environ, made from %ENV for a child process that is about to start. */
#include "environment.h"
#include <unistd.h>

extern char **environ;

/* Between export and restore `environ` is ours; perl and C libraries change theirs in between at no time. */
static char **built, **kept;

void mehari_environment_export(pTHX)
{
  if (built)
    return;
  HV *env = GvHVn(PL_envgv);
  Newx(built, HvUSEDKEYS(env) + 1, char *);
  int count = 0;
  hv_iterinit(env);
  HE *entry;
  while ((entry = hv_iternext(env))) {
    STRLEN name_length, value_length;
    const char *name = HePV(entry, name_length), *value = SvOK(HeVAL(entry)) ? SvPV_nomg(HeVAL(entry), value_length) : (value_length = 0, "");
    char *line;
    Newx(line, name_length + value_length + 2, char);
    memcpy(line, name, name_length);
    line[name_length] = '=';
    memcpy(line + name_length + 1, value, value_length);
    line[name_length + 1 + value_length] = '\0';
    built[count++] = line;
  }
  built[count] = NULL;
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
