/* Decides whether compiling a script has effects besides definitions. Such effects (BEGIN blocks, a
 * `use` with computed arguments) belong to each request, so the script must be compiled for
 * each. */
#include "script/script.h"
#include "interpreter/interpreter.h"
#include "interpreter/perl_internals.h"
#include <unistd.h>

/* Whether no code of the script has run: no BEGIN block, and no `use` with computed arguments. */
static bool pure;

static bool on_trial;
static uint32_t *first_effect; /* receives the line of the first effect; NULL: nobody wants it */
static OP *(*perl_require)(pTHX), *(*perl_do_file)(pTHX);

bool mehari_purity_holds(void) { return pure; }

/* Notes an effect. A trial compilation stops at the first effect, because its result is then
 * known. */
static void lose_purity(pTHX)
{
  pure = false;
  if (!on_trial)
    return;
  if (first_effect)
    *first_effect = CopLINE(PL_curcop);
  _exit(1);
}

bool mehari_purity_of_modules(pTHX) { return mehari_ask_perl(aTHX_ "Mehari::Zygote::only_standard_modules", NULL); }

/* Whether the file to be loaded is perl's own, is already loaded, or is only a version number. */
static bool may_load(pTHX_ SV *name)
{
  bool is_version = SvVOK(name) || (SvNIOK(name) && !SvPOK(name));
  return is_version || mehari_ask_perl(aTHX_ "Mehari::Zygote::may_load_on_trial", name);
}

static OP *load(pTHX_ OP *(*perl)(pTHX))
{
  dSP;
  if (!may_load(aTHX_ TOPs))
    lose_purity(aTHX);
  return perl(aTHX);
}

static OP *run_require(pTHX) { return load(aTHX_ perl_require); }
static OP *run_do_file(pTHX) { return load(aTHX_ perl_do_file); }

/* Makes this process a trial, which compiles a script only to find out whether compiling has
 * effects. */
void mehari_purity_try(uint32_t *effect)
{
  on_trial = true;
  first_effect = effect;
  mehari_replace_operator(OP_REQUIRE, run_require, &perl_require);
  mehari_replace_operator(OP_DOFILE, run_do_file, &perl_do_file);
}

static const char *skip_quoted(const char *at, const char *end)
{
  char quote = *at++;
  while (at < end && *at != quote)
    at += *at == '\\' && at + 1 < end ? 2 : 1;
  return at < end ? at + 1 : end;
}

static const char *skip_words(const char *at, const char *end)
{
  static const char opening[] = "([{<", closing[] = ")]}>";
  while (at < end && isSPACE(*at))
    at++;
  if (at >= end)
    return end;
  const char *pair = strchr(opening, *at);
  char close = pair ? closing[pair - opening] : *at;
  const char *stop = memchr(at + 1, close, end - at - 1);
  return stop ? stop + 1 : end;
}

/* Whether the text behind `use` up to its semicolon is a name and literals. */
static bool is_literal_use(const char *at, const char *end)
{
  bool named = false;
  while (at < end && *at != ';') {
    if (isSPACE(*at) || strchr(",()[]{}=>.+-", *at))
      at++;
    else if (*at == '#') {
      const char *feed = memchr(at, '\n', end - at);
      at = feed ? feed : end;
    } else if (*at == '\'')
      at = skip_quoted(at, end);
    else if (*at == '"') {
      const char *stop = skip_quoted(at, end);
      if (memchr(at, '$', stop - at) || memchr(at, '@', stop - at))
        return false;
      at = stop;
    } else if (isDIGIT(*at))
      while (at < end && (isWORDCHAR_A(*at) || *at == '.'))
        at++;
    else if (isWORDCHAR_A(*at) || *at == ':') {
      const char *word = at;
      while (at < end && (isWORDCHAR_A(*at) || *at == ':'))
        at++;
      if (at - word == 2 && memEQ(word, "qw", 2)) {
        at = skip_words(at, end);
        continue;
      }
      bool version = *word == 'v' && at - word > 1 && isDIGIT(word[1]);
      const char *next = at;
      while (next < end && isSPACE(*next))
        next++;
      if (named && !version && !(next + 1 < end && next[0] == '=' && next[1] == '>'))
        return false;
      named = true;
    } else
      return false;
  }
  return true;
}

static bool is_word(const char *word, STRLEN length, const char *wanted)
{
  return strlen(wanted) == length && memEQ(word, wanted, length);
}

/* Notes whether a word of the script that perl has just read begins code with an effect. */
void mehari_purity_judge(pTHX_ const char *word, STRLEN length)
{
  if (!pure)
    return;
  if (is_word(word, length, "BEGIN") || is_word(word, length, "UNITCHECK") || is_word(word, length, "CHECK") || is_word(word, length, "INIT"))
    lose_purity(aTHX);
  else if (is_word(word, length, "use") || is_word(word, length, "no")) {
    char *end, *rest = mehari_parser_rest(aTHX_ &end);
    if (!is_literal_use(rest, end))
      lose_purity(aTHX);
  }
}

void mehari_purity_begin(void) { pure = true; }
