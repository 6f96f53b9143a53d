/* Texts of a request record: the texts of the frame, until a handler changes them. */
#include "request/record.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "phases/settings.h"

static mehari_text sent(const mehari_rec *rec, int which) { return mehari_job_text(&rec->job, rec->job.frame->text[which]); }
static SV *copy(pTHX_ mehari_text text) { return newSVpvn(text.at, text.length); }

static SV *joined(pTHX_ mehari_text first, mehari_text second)
{
  SV *text = copy(aTHX_ first);
  sv_catpvn(text, second.at, second.length);
  return text;
}

static int digit(char byte) { return isDIGIT_A(byte) ? byte - '0' : (byte | 0x20) - 'a' + 10; }

/* Returns the decoded path of the target. NULL: the target is not a plain path. */
static SV *path_of_target(pTHX_ const mehari_rec *rec)
{
  mehari_text target = sent(rec, MEHARI_TEXT_TARGET);
  SV *path = newSVpvs("");
  if (!target.length || *target.at != '/')
    target.length = 0;
  for (STRLEN i = 0; i < target.length && target.at[i] != '?'; i++) {
    char byte = target.at[i];
    if (byte == '%' && i + 2 < target.length && isXDIGIT_A(target.at[i + 1]) && isXDIGIT_A(target.at[i + 2])) {
      byte = (char)(digit(target.at[i + 1]) << 4 | digit(target.at[i + 2]));
      i += 2;
    }
    if (byte != '/' || !SvCUR(path) || SvPVX(path)[SvCUR(path) - 1] != '/')
      sv_catpvn(path, &byte, 1);
  }
  if (SvCUR(path) && !strstr(SvPVX(path), "/."))
    return path;
  SvREFCNT_dec(path);
  return NULL;
}

/* Whether `$r` is about the folder whose index the request has got. */
static bool is_at_folder(const mehari_rec *rec) { return rec->is_at_folder && sent(rec, MEHARI_TEXT_FOLDER).length; }

static SV *path_of(pTHX_ const mehari_rec *rec)
{
  SV *path = rec->is_untranslated ? path_of_target(aTHX_ rec) : NULL;
  if (!path && is_at_folder(rec))
    return copy(aTHX_ sent(rec, MEHARI_TEXT_FOLDER));
  return path ? path : joined(aTHX_ sent(rec, MEHARI_TEXT_SCRIPT_NAME), sent(rec, MEHARI_TEXT_PATH_INFO));
}

static SV *file_name(pTHX_ const mehari_rec *rec)
{
  mehari_text file = sent(rec, MEHARI_TEXT_FILE);
  if (is_at_folder(rec))
    return copy(aTHX_ sent(rec, MEHARI_TEXT_FOLDER_FILE));
  return copy(aTHX_ file.length ? file : sent(rec, MEHARI_TEXT_TASK));
}

bool mehari_rec_is_within(const mehari_rec *rec) { return rec->main || rec->job.frame->flags & MEHARI_FLAG_WITHIN; }

/* Returns the record of the client's request. */
static const mehari_rec *first(const mehari_rec *rec)
{
  while (rec->main || rec->prev)
    rec = rec->main ? rec->main : rec->prev;
  return rec;
}

mehari_text mehari_rec_asked(const mehari_rec *rec) { return sent(first(rec), MEHARI_TEXT_TARGET); }

/* Returns the client's request line. As in Apache, redirects and sub-requests have the same. */
static SV *the_request(pTHX_ const mehari_rec *rec)
{
  rec = first(rec);
  /* A handler may have set another method. */
  const mehari_job *came = rec->restated ? &rec->came : &rec->job;
  mehari_text method = mehari_job_text(came, came->frame->text[MEHARI_TEXT_METHOD]), target = sent(rec, MEHARI_TEXT_TARGET),
              protocol = sent(rec, MEHARI_TEXT_PROTOCOL);
  return newSVpvf("%.*s %.*s %.*s", (int)method.length, method.at, (int)target.length, target.at, (int)protocol.length, protocol.at);
}

/* The media type that Apache's mod_mime gives a folder (DIR_MAGIC_TYPE). */
#define FOLDER_TYPE "httpd/unix-directory"

/* Whether the file of a Perl handler, or of the front, is a folder. */
static bool is_folder(pTHX_ const mehari_rec *rec)
{
  struct stat found;
  const mehari_request *frame = rec->job.frame;
  bool is_fronts = frame->task == MEHARI_TASK_FRONT && !(frame->flags & (MEHARI_FLAG_FILE | MEHARI_FLAG_PROGRAM));
  mehari_text file = sent(rec, is_fronts ? MEHARI_TEXT_TASK : MEHARI_TEXT_FILE);
  if (is_at_folder(rec))
    return true;
  bool may_be_folder = file.length && (is_fronts || (frame->task == MEHARI_TASK_HANDLER && file.at[file.length - 1] == '/'));
  return may_be_folder && !sent(rec, MEHARI_TEXT_PATH_INFO).length && stat(SvPVX(sv_2mortal(copy(aTHX_ file))), &found) == 0 &&
         S_ISDIR(found.st_mode);
}

/* Returns the name of the handler as `SetHandler`, mod_mime and mod_dir set the name. A file has
 * no handler. */
static const char *handler_name(pTHX_ const mehari_rec *rec)
{
  switch (rec->job.frame->task) {
  case MEHARI_TASK_HANDLER:
    return rec->job.frame->flags & MEHARI_FLAG_PERL_SCRIPT ? "perl-script" : "modperl";
  case MEHARI_TASK_REGISTRY:
  case MEHARI_TASK_PERLRUN:
  case MEHARI_TASK_FORK:
  case MEHARI_TASK_REWIND:
  case MEHARI_TASK_AUTO:
    return "perl-script";
  case MEHARI_TASK_PSGI:
    return "psgi";
  default:
    return rec->job.frame->flags & MEHARI_FLAG_PROGRAM ? "cgi-script" : is_folder(aTHX_ rec) ? FOLDER_TYPE : NULL;
  }
}

/* Returns the value of a variable in which the front passes a text. */
static mehari_text variable(const mehari_rec *rec, const char *name)
{
  for (int i = 0; i < rec->job.frame->variable_count; i++) {
    mehari_text known = mehari_job_text(&rec->job, rec->job.variables[i].name);
    if (known.length == strlen(name) && memEQ(known.at, name, known.length))
      return mehari_job_text(&rec->job, rec->job.variables[i].value);
  }
  return (mehari_text){"", 0};
}

/* Whether the target is `/path?`. As in Apache, such a target has an empty query. */
static bool has_empty_query(const mehari_rec *rec)
{
  mehari_text target = sent(rec, MEHARI_TEXT_TARGET);
  return target.length && target.at[target.length - 1] == '?';
}

static SV *copy_unless_empty(pTHX_ mehari_text text) { return text.length ? copy(aTHX_ text) : NULL; }

static SV *as_sent(pTHX_ const mehari_rec *rec, int which)
{
  mehari_text text;
  const char *handler;
  switch (which) {
  case MEHARI_REC_URI:
    return path_of(aTHX_ rec);
  case MEHARI_REC_FILENAME:
    return rec->is_unmapped ? NULL : file_name(aTHX_ rec);
  case MEHARI_REC_PATH_INFO:
    return rec->is_unmapped ? NULL : copy(aTHX_ sent(rec, MEHARI_TEXT_PATH_INFO));
  case MEHARI_REC_ARGS:
    text = sent(rec, MEHARI_TEXT_QUERY);
    return text.length || has_empty_query(rec) ? copy(aTHX_ text) : NULL;
  case MEHARI_REC_METHOD:
    return copy(aTHX_ sent(rec, MEHARI_TEXT_METHOD));
  case MEHARI_REC_PROTOCOL:
    if (mehari_rec_is_within(rec)) /* as in Apache */
      return newSVpvs("INCLUDED");
    return copy(aTHX_ sent(rec, MEHARI_TEXT_PROTOCOL));
  case MEHARI_REC_UNPARSED_URI:
    return copy(aTHX_ sent(rec, MEHARI_TEXT_TARGET));
  case MEHARI_REC_HOSTNAME:
    return copy(aTHX_ sent(rec, MEHARI_TEXT_SERVER_NAME));
  case MEHARI_REC_THE_REQUEST:
    return the_request(aTHX_ rec);
  case MEHARI_REC_CONTENT_TYPE:
    return is_folder(aTHX_ rec) ? newSVpvs(FOLDER_TYPE) : copy_unless_empty(aTHX_ sent(rec, MEHARI_TEXT_MEDIA_TYPE));
  case MEHARI_REC_CONTENT_ENCODING:
    return is_at_folder(rec) ? NULL : copy_unless_empty(aTHX_ sent(rec, MEHARI_TEXT_CODING));
  case MEHARI_REC_USER:
    return copy_unless_empty(aTHX_ variable(rec, "REMOTE_USER"));
  case MEHARI_REC_AUTH_TYPE:
    return copy_unless_empty(aTHX_ variable(rec, "AUTH_TYPE"));
  case MEHARI_REC_HANDLER:
    handler = handler_name(aTHX_ rec);
    return handler ? newSVpv(handler, 0) : NULL;
  default:
    return NULL;
  }
}

/* Forgets a text that no handler has set, so that the text is found again. */
static void forget(pTHX_ mehari_rec *rec, int which)
{
  if (mehari_is_changed(rec, which))
    return;
  SvREFCNT_dec(rec->texts[which]);
  rec->texts[which] = NULL;
}

void mehari_rec_show_target(pTHX_ mehari_rec *rec, bool shows)
{
  rec->is_untranslated = shows;
  forget(aTHX_ rec, MEHARI_REC_URI);
}

void mehari_rec_show_file(pTHX_ mehari_rec *rec, bool shows)
{
  rec->is_unmapped = !shows;
  forget(aTHX_ rec, MEHARI_REC_FILENAME);
  forget(aTHX_ rec, MEHARI_REC_PATH_INFO);
}

/* Returns the settings of the folder, or NULL if they are those of the request. */
static const mehari_settings *settings_of_folder(pTHX_ const mehari_rec *rec)
{
  mehari_text numbered = sent(rec, MEHARI_TEXT_FOLDER_SETTINGS);
  uint32_t id;
  if (numbered.length <= sizeof id)
    return NULL;
  memcpy(&id, numbered.at, sizeof id);
  return mehari_settings_find(aTHX_ id, (mehari_text){numbered.at + sizeof id, numbered.length - sizeof id});
}

void mehari_rec_show_folder(pTHX_ mehari_rec *rec, bool shows)
{
  static const int about[] = {MEHARI_REC_URI, MEHARI_REC_FILENAME, MEHARI_REC_CONTENT_TYPE, MEHARI_REC_CONTENT_ENCODING};
  rec->is_at_folder = shows;
  if (!sent(rec, MEHARI_TEXT_FOLDER).length)
    return;
  const mehari_settings *of_folder = settings_of_folder(aTHX_ rec);
  if (of_folder)
    rec->settings = shows ? of_folder : mehari_settings_find(aTHX_ rec->job.frame->settings_id, sent(rec, MEHARI_TEXT_SETTINGS));
  for (size_t i = 0; i < C_ARRAY_LENGTH(about); i++)
    forget(aTHX_ rec, about[i]);
  if (rec->slots && !mehari_is_changed(rec, MEHARI_REC_FILENAME))
    (void)hv_deletes(rec->slots, "finfo", G_DISCARD);
}

SV *mehari_rec_text(pTHX_ mehari_rec *rec, int which)
{
  if (!rec->texts[which] && !(rec->changed & (1u << which)))
    rec->texts[which] = as_sent(aTHX_ rec, which);
  rec->held |= 1u << which;
  return rec->texts[which];
}

/* Refuses a change between `modperl` and `perl-script` after the response phase has begun, because
 * the two handlers have different environments. */
static void check_switch(pTHX_ mehari_rec *rec, SV *value)
{
  SV *now = mehari_rec_text(aTHX_ rec, MEHARI_REC_HANDLER);
  const char *old = now ? SvPV_nolen(now) : "", *new = value && SvOK(value) ? SvPV_nolen(value) : "";
  bool is_ours = strEQ(new, "modperl") || strEQ(new, "perl-script");
  if (is_ours && (strEQ(old, "modperl") || strEQ(old, "perl-script")) && strNE(old, new))
    croak("Can't switch from '%s' to '%s' response handler", old, new);
}

/* Keeps the file for `$r->finfo`. As in Apache, it is the file that was found when the path was
 * mapped. */
static void keep_file_of_finfo(pTHX_ mehari_rec *rec)
{
  static const char key[] = "file of finfo";
  bool is_mapped = mehari_phase_now && mehari_phase_now != mehari_phases[MEHARI_PHASE_POST_READ_REQUEST].name &&
                   mehari_phase_now != mehari_phases[MEHARI_PHASE_TRANS].name && mehari_phase_now != mehari_phases[MEHARI_PHASE_MAP_TO_STORAGE].name;
  if (!is_mapped || (rec->slots && hv_exists(rec->slots, key, sizeof key - 1)))
    return;
  SV *file = mehari_rec_text(aTHX_ rec, MEHARI_REC_FILENAME);
  if (!rec->slots)
    rec->slots = newHV();
  if (file)
    (void)hv_store(rec->slots, key, sizeof key - 1, newSVsv(file), 0);
}

void mehari_rec_set_text(pTHX_ mehari_rec *rec, int which, SV *value)
{
  if (which == MEHARI_REC_FILENAME)
    keep_file_of_finfo(aTHX_ rec);
  if (which == MEHARI_REC_HANDLER && mehari_phase_now == mehari_phases[MEHARI_PHASE_RESPONSE].name)
    check_switch(aTHX_ rec, value);
  rec->changed |= 1u << which;
  rec->held |= 1u << which;
  if (value)
    SvGETMAGIC(value);
  if (value && !SvOK(value))
    value = NULL;
  if (value && rec->texts[which])
    sv_setsv(rec->texts[which], value);
  else {
    SvREFCNT_dec(rec->texts[which]);
    rec->texts[which] = value ? newSVsv(value) : NULL;
  }
}

mehari_text mehari_rec_languages(pTHX_ mehari_rec *rec)
{
  SV **set = rec->slots ? hv_fetchs(rec->slots, "content_languages", 0) : NULL;
  if (!set || !SvROK(*set) || SvTYPE(SvRV(*set)) != SVt_PVAV)
    return is_at_folder(rec) ? (mehari_text){"", 0} : sent(rec, MEHARI_TEXT_LANGUAGES);
  SV *list = newSVpvs_flags("", SVs_TEMP);
  AV *languages = (AV *)SvRV(*set);
  for (SSize_t i = 0; i <= av_top_index(languages); i++) {
    SV **language = av_fetch(languages, i, 0);
    mehari_text text = mehari_text_of(aTHX_ language ? *language : NULL);
    sv_catpvf(list, "%s%.*s", i ? "," : "", (int)text.length, text.at);
  }
  return (mehari_text){SvPVX(list), SvCUR(list)};
}
