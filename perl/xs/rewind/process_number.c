/* Detects that a request reads its process number, which cannot be rewound. Many requests run under
 * the same process number, but old scripts make names of files and sessions from `time . $$`. After
 * a script has read the number, each of its requests gets a process of its own, so no two requests
 * see the same number.
 *
 * A comparison of the number only detects a forked child, so it is harmless. Perl's own modules,
 * and the modules in the list below, read the number only for such comparisons. */
#include "mehari.h"
#include "rewind/rewind.h"
#include "rewind/state.h"
#include "mailbox/mailbox.h"

static const char *const harmless[] = {"/DBI.pm", "/Exception/Class/Base.pm", "/Apache/Session/Generate/MD5.pm", "/Cache/FastMmap.pm", "/Bytes/Random/Secure.pm",
                                       "/Math/Random/Secure/RNG.pm", "/Crypt/URandom.pm"};

static mehari_rewind *own;

static bool ends_with(const char *text, const char *end)
{
  size_t length = strlen(text), wanted = strlen(end);
  return length >= wanted && strEQ(text + length - wanted, end);
}

static bool is_within(const char *file, const char *folder)
{
  size_t length = strlen(folder);
  return strnEQ(file, folder, length) && file[length] == '/';
}

static bool is_harmless(const char *file)
{
  if (is_within(file, PRIVLIB_EXP) || is_within(file, ARCHLIB_EXP) || strstr(file, "/perl-base/"))
    return true;
  for (size_t i = 0; i < C_ARRAY_LENGTH(harmless); i++)
    if (ends_with(file, harmless[i]))
      return true;
  return false;
}

static bool is_compared(pTHX)
{
  switch (PL_op ? PL_op->op_type : OP_NULL) {
  case OP_EQ: case OP_NE: case OP_I_EQ: case OP_I_NE: case OP_SEQ: case OP_SNE:
    return true;
  default:
    return false;
  }
}

static void refuse(const char *file, unsigned long line)
{
  char why[sizeof own->spoiled];
  snprintf(why, sizeof why, "it asks for the number of its process at %.100s line %lu", file ? file : "?", line);
  mehari_rewind_refuse(own, why);
  own->refused = true;
}

static int pid_is_read(pTHX_ SV *value, MAGIC *magic)
{
  PERL_UNUSED_ARG(value);
  PERL_UNUSED_ARG(magic);
  const char *file = PL_curcop ? CopFILE(PL_curcop) : NULL;
  if (!mehari_serving || mehari_in_child || is_compared(aTHX) || (file && is_harmless(file)))
    return 0;
  mehari_key_open();
  if (!own->refused)
    refuse(file, PL_curcop ? (unsigned long)CopLINE(PL_curcop) : 0);
  mehari_key_close();
  return 0;
}

static MGVTBL watched = {.svt_get = pid_is_read};

void mehari_rewind_watch_pid(pTHX_ mehari_rewind *rewind)
{
  own = rewind;
  sv_magicext(get_sv("$", GV_ADD), NULL, PERL_MAGIC_ext, &watched, NULL, 0);
}
