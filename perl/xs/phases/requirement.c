/* Evaluates `Require` if Perl sets the user, and `Satisfy`. It reads the configuration's lines
 * (server/config/src/access/worker_encoding.rs) and the front's results for the parts that need no
 * user.
 *
 * The results are the same as the front's: granted, denied, depends on the user, neutral, and
 * not for this method. */
#include "phases/phases.h"
#include "phases/settings.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "request/record.h"
#include <fcntl.h>

enum { GRANTED, DENIED, NEUTRAL, SILENT, NEEDS_USER };
enum { DEEPEST = 64, LONGEST_GROUPS = 1 << 20, MOST = 32 /* verdicts that a request carries */ };

typedef struct {
  mehari_rec *rec;
  mehari_text rest, user;
  const char *group_file;
  uint64_t known;
  int depth;
  bool lacks; /* whether a part was read whose result the request does not carry */
} reading;

static mehari_text line_of(mehari_text *rest)
{
  const char *stop = memchr(rest->at, '\n', rest->length);
  mehari_text line = {rest->at, stop ? (STRLEN)(stop - rest->at) : rest->length};
  rest->at += line.length + !!stop;
  rest->length -= line.length + !!stop;
  return line;
}

/* Returns the text behind the word. False: the line begins with another word. */
static bool behind(mehari_text line, const char *word, mehari_text *rest)
{
  STRLEN length = strlen(word);
  if (line.length < length || !memEQ(line.at, word, length) || (line.length > length && line.at[length] != ' '))
    return false;
  STRLEN taken = length + (line.length > length);
  *rest = (mehari_text){line.at + taken, line.length - taken};
  return true;
}

static bool holds_word(mehari_text words, mehari_text word)
{
  for (const char *at = words.at, *end = words.at + words.length; at < end;) {
    while (at < end && isSPACE(*at))
      at++;
    const char *stop = at;
    while (stop < end && !isSPACE(*stop))
      stop++;
    if ((STRLEN)(stop - at) == word.length && memEQ(at, word.at, word.length))
      return true;
    at = stop;
  }
  return false;
}

static SV *text_of_file(pTHX_ const char *name)
{
  SV *text = sv_2mortal(newSVpvs(""));
  int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    mehari_logf(MEHARI_LOG_ERROR, "AuthGroupFile %s cannot be read: %s", name, Strerror(errno));
    return text;
  }
  for (ssize_t count = 1; count > 0 && SvCUR(text) < LONGEST_GROUPS;) {
    char *into = SvGROW(text, SvCUR(text) + 4097);
    count = read(file, into + SvCUR(text), 4096);
    if (count > 0)
      SvCUR_set(text, SvCUR(text) + count);
  }
  close(file);
  return text;
}

/* Whether the user is in one of the groups. A line of the group file is `group: user user`. */
static bool is_member(pTHX_ const reading *at, mehari_text groups)
{
  if (!at->group_file)
    return false;
  mehari_text text = mehari_text_of(aTHX_ text_of_file(aTHX_ at->group_file));
  while (text.length) {
    mehari_text line = line_of(&text);
    const char *colon = memchr(line.at, ':', line.length);
    if (!colon)
      continue;
    STRLEN length = colon - line.at;
    if (holds_word(groups, (mehari_text){line.at, length}) && holds_word((mehari_text){colon + 1, line.length - length - 1}, at->user))
      return true;
  }
  return false;
}

static int number(mehari_text text)
{
  int value = 0;
  for (STRLEN at = 0; at < text.length && isDIGIT(text.at[at]) && value < 1000; at++)
    value = 10 * value + text.at[at] - '0';
  return value;
}

/* Returns the front's result of a part. A part whose result the request does not carry admits
 * nobody. */
static int known(reading *at, mehari_text which)
{
  int place = number(which);
  if (place < MOST)
    return (at->known >> (2 * place)) & 3;
  at->lacks = true;
  return DENIED;
}

static int verdict(pTHX_ reading *at);

/* Combines several results. A result that equals `deciding` decides. Otherwise the need for a user
 * comes first, then the result `weaker`. As in Apache, in a `<RequireAll>` a requirement that does
 * not apply to the method counts as granted, if any other requirement applies. */
static int several(pTHX_ reading *at, int count, int deciding, int weaker)
{
  int all = SILENT;
  bool has_silent = false;
  for (int i = 0; i < count && at->rest.length; i++) {
    int one = verdict(aTHX_ at);
    has_silent |= one == SILENT;
    if (all == deciding || one == deciding)
      all = deciding;
    else if (one == NEEDS_USER || all == NEEDS_USER)
      all = NEEDS_USER;
    else if (one == weaker || (one == NEUTRAL && all == SILENT))
      all = one;
  }
  return all == NEUTRAL && has_silent && weaker == GRANTED ? GRANTED : all;
}

/* Negates a result. As in Apache, a negated requirement never asks for a user: it is neutral
 * without one. */
static int negated(const reading *at, int inner)
{
  if (at->lacks)
    return DENIED;
  return inner == GRANTED ? DENIED : inner == DENIED || inner == NEEDS_USER ? NEUTRAL : inner;
}

static int of_user(const reading *at, bool fits)
{
  return !at->user.length ? NEEDS_USER : fits ? GRANTED : DENIED;
}

/* Translates a result of a PerlAddAuthzProvider handler (Apache2::Const's AUTHZ_*). */
static int of_answer(IV answer)
{
  enum { AUTHZ_GRANTED = 1, AUTHZ_NEUTRAL, AUTHZ_GENERAL_ERROR, AUTHZ_DENIED_NO_USER };
  return answer == AUTHZ_GRANTED ? GRANTED : answer == AUTHZ_NEUTRAL ? NEUTRAL : answer == AUTHZ_DENIED_NO_USER ? NEEDS_USER : DENIED;
}

typedef struct {
  mehari_rec *rec;
  mehari_text handler, words;
  int verdict;
} provider_call;

static void call_provider(pTHX_ void *argument)
{
  provider_call *this = argument;
  dSP;
  ENTER;
  SAVETMPS;
  load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("Mehari::Providers"), NULL);
  SPAGAIN;
  PUSHMARK(SP);
  XPUSHs(mehari_rec_object(aTHX_ this->rec));
  mXPUSHp(this->handler.at, this->handler.length);
  mXPUSHp(this->words.at, this->words.length);
  PUTBACK;
  int count = call_pv("Mehari::Providers::decides", G_SCALAR | G_EVAL);
  SPAGAIN;
  if (count && !SvTRUE(ERRSV))
    this->verdict = of_answer(SvIV(TOPs));
  SP -= count;
  PUTBACK;
  FREETMPS;
  LEAVE;
}

/* Evaluates a line of a provider: `HANDLER TAB WORDS`. */
static int of_provider(pTHX_ reading *at, mehari_text line)
{
  const char *tab = memchr(line.at, '\t', line.length);
  if (!tab)
    return DENIED;
  STRLEN length = tab - line.at;
  provider_call this = {at->rec, {line.at, length}, {tab + 1, line.length - length - 1}, DENIED};
  mehari_guard(aTHX_ call_provider, &this, NULL);
  return this.verdict;
}

static int verdict(pTHX_ reading *at)
{
  mehari_text line = line_of(&at->rest), words;
  if (++at->depth > DEEPEST)
    return DENIED;
  int found = DENIED;
  if (behind(line, "granted", &words))
    found = GRANTED;
  else if (behind(line, "valid-user", &words))
    found = of_user(at, true);
  else if (behind(line, "user", &words))
    found = of_user(at, holds_word(words, at->user));
  else if (behind(line, "group", &words))
    found = of_user(at, at->user.length && is_member(aTHX_ at, words));
  else if (behind(line, "perl", &words))
    found = of_provider(aTHX_ at, words);
  else if (behind(line, "known", &words))
    found = known(at, words);
  else if (behind(line, "expression", &words)) {
    found = known(at, words);
    if (found == DENIED && !at->lacks)
      found = NEEDS_USER;
  } else if (behind(line, "not", &words))
    found = negated(at, verdict(aTHX_ at));
  else if (behind(line, "any", &words))
    found = several(aTHX_ at, number(words), GRANTED, DENIED);
  else if (behind(line, "none", &words))
    found = negated(at, several(aTHX_ at, number(words), GRANTED, DENIED));
  else if (behind(line, "all", &words))
    found = several(aTHX_ at, number(words), DENIED, GRANTED);
  else if (behind(line, "limit", &words)) {
    int inner = verdict(aTHX_ at), is_meant = known(at, words);
    found = number(words) >= MOST ? DENIED : is_meant == GRANTED ? inner : SILENT;
  }
  at->depth--;
  return found;
}

mehari_verdict mehari_requirement_verdict(pTHX_ mehari_rec *rec, SV *user, uint64_t known)
{
  SV *groups = mehari_settings_text(aTHX_ rec->settings, "group_file");
  reading at = {
    .rec = rec,
    .rest = mehari_text_of(aTHX_ mehari_settings_text(aTHX_ rec->settings, "requirement")),
    .user = mehari_text_of(aTHX_ user),
    .group_file = groups ? SvPV_nolen(groups) : NULL,
    .known = known,
  };
  int found = verdict(aTHX_ &at);
  return found == GRANTED || found == SILENT ? MEHARI_GRANTED : found == NEEDS_USER ? MEHARI_NEEDS_USER : MEHARI_DENIED;
}

/* Reads the lines that `AllowDeny::encode_satisfy` writes. */
int mehari_rec_satisfies(pTHX_ mehari_rec *rec)
{
  mehari_text rest = mehari_text_of(aTHX_ mehari_settings_text(aTHX_ rec->settings, "satisfy")), methods, others;
  mehari_text method = mehari_rec_numbered_method(aTHX_ rec);
  /* As in Apache, access to an index is checked as for a sub-request, whose method is GET. */
  if (rec->is_for_index || (method.length == 4 && memEQ(method.at, "HEAD", 4)))
    method = (mehari_text){"GET", 3};
  int said = MEHARI_SATISFY_NOSPEC;
  while (rest.length) {
    mehari_text line = line_of(&rest);
    bool is_any = behind(line, "any", &methods);
    if (!is_any && !behind(line, "all", &methods))
      continue;
    bool holds = behind(methods, "except", &others) ? !holds_word(others, method) : !methods.length || holds_word(methods, method);
    if (holds)
      said = is_any ? MEHARI_SATISFY_ANY : MEHARI_SATISFY_ALL;
  }
  return said;
}
