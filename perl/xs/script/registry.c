/* The rungs `registry` and `perlrun`: run a script as a sub, which is compiled once or for each
 * request. */
#include "script/script.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "phases/settings.h"
#include "process/process.h"
#include "request/record.h"
#include "response/outgoing.h"
#include "response/response.h"
#include "stdio/standard.h"
#include "trace/trace.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool lives_in_cgi_world(void) { return mehari_now.frame->flags & MEHARI_FLAG_CGI_WORLD; }

/* Returns the name of the script's configured handler. Several handlers share a rung. */
static mehari_text handler_name(pTHX)
{
  AV *handlers = mehari_rec_now ? mehari_rec_handlers(mehari_rec_now, MEHARI_PHASE_RESPONSE) : NULL;
  SV **first = handlers ? av_fetch(handlers, 0, 0) : NULL;
  mehari_text name = {"", 0};
  if (first && SvPOK(*first))
    name.at = SvPV(*first, name.length);
  if (name.length && (*name.at == '+' || *name.at == '-')) {
    name.at++;
    name.length--;
  }
  return name;
}

static bool is_of_mod_perl_1(pTHX)
{
  mehari_text name = handler_name(aTHX);
  return name.length > 8 && memEQ(name.at, "Apache::", 8);
}

/* Whether the script runs in its own folder, as under mod_perl 1 and mod_perl 2's Prefork
 * classes. */
static bool enters_folder(pTHX)
{
  mehari_text name = handler_name(aTHX);
  return lives_in_cgi_world() || is_of_mod_perl_1(aTHX) || (name.length > 7 && memEQ(name.at + name.length - 7, "Prefork", 7));
}

/* Returns the script's `$r`. Under mod_perl 1's handlers `$r` has mod_perl 1's class. */
static SV *script_request(pTHX)
{
  SV *r = mehari_rec_object(aTHX_ mehari_rec_now);
  if (is_of_mod_perl_1(aTHX)) {
    load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("Apache"), NULL);
    sv_bless(r, gv_stashpvs("Apache", GV_ADD));
  }
  return r;
}

/* The cache key: the file, and whether it expects a CGI environment, which changes its
 * compilation. */
typedef struct {
  char text[1 + 4096 + 1];
  STRLEN length;
} cache_key;

/* Makes the cache key of a file. False: the file's name is too long. */
static bool make_key(cache_key *key, mehari_text file, bool cgi_world)
{
  key->text[0] = cgi_world ? 'c' : 'm';
  key->length = 1 + file.length;
  return mehari_copy(key->text + 1, sizeof key->text - 1, file);
}

static HV *compiled; /* file (and world) => mehari_script * */

static mehari_script *cached(pTHX_ const cache_key *key)
{
  SV **found = compiled ? hv_fetch(compiled, key->text, key->length, 0) : NULL;
  return found ? INT2PTR(mehari_script *, SvIV(*found)) : NULL;
}

static void keep(pTHX_ const cache_key *key, mehari_script *script)
{
  if (!compiled)
    compiled = newHV();
  (void)hv_store(compiled, key->text, key->length, newSViv(PTR2IV(script)), 0);
}

static mehari_script *find(pTHX_ mehari_text file, int *status)
{
  cache_key key;
  if (!make_key(&key, file, mehari_now.frame->flags & MEHARI_FLAG_CGI_WORLD)) {
    *status = 414;
    return NULL;
  }
  mehari_script *script = cached(aTHX_ &key);
  *status = 0;
  if (script && mehari_script_unchanged(script, file, status))
    return script;
  if (*status)
    return NULL;
  if (script) {
    HV *stash = script->stash;
    mehari_script_free(aTHX_ script);
    (void)hv_delete(compiled, key.text, key.length, G_DISCARD);
    if (stash)
      hv_clear(stash);
  }
  script = mehari_script_compile(aTHX_ key.text + 1, MEHARI_AS_REGISTRY, status);
  if (script)
    keep(aTHX_ &key, script);
  return script;
}

#define URIS 64 /* the most URLs that are kept of one script */

/* Notes the URL under which the script runs. */
static void note_uri(pTHX_ mehari_script *script)
{
  mehari_text uri = mehari_request_text(MEHARI_TEXT_SCRIPT_NAME);
  if (uri.length == script->last_uri.length && script->last_uri.at && memEQ(uri.at, script->last_uri.at, uri.length))
    return;
  if (!script->uris)
    script->uris = newHV();
  if (HvUSEDKEYS(script->uris) >= URIS && !hv_exists(script->uris, uri.at, uri.length))
    return;
  HE *entry = (HE *)hv_common(script->uris, NULL, uri.at, uri.length, 0, HV_FETCH_LVALUE, NULL, 0);
  if (entry)
    script->last_uri = (mehari_text){HeKEY(entry), HeKLEN(entry)};
}

/* Mehari::Inspect::_scripts(): a hash of each compiled script. */
XS_INTERNAL(list_scripts)
{
  dXSARGS;
  PERL_UNUSED_VAR(items);
  SP -= items;
  HE *entry;
  if (compiled)
    hv_iterinit(compiled);
  while (compiled && (entry = hv_iternext(compiled))) {
    mehari_script *script = INT2PTR(mehari_script *, SvIV(HeVAL(entry)));
    HV *facts = newHV();
    const char *package = script->stash ? HvNAME(script->stash) : NULL;
    (void)hv_stores(facts, "file", newSVpv(script->file, 0));
    (void)hv_stores(facts, "world", newSVpv(HeKLEN(entry) > 0 && HeKEY(entry)[0] == 'c' ? "cgi" : "mod_perl", 0));
    (void)hv_stores(facts, "package", package ? newSVpv(package, 0) : newSV(0));
    (void)hv_stores(facts, "uris", script->uris ? newRV_inc((SV *)script->uris) : newSV(0));
    (void)hv_stores(facts, "code", script->code ? newRV_inc((SV *)script->code) : newSV(0));
    mXPUSHs(newRV_noinc((SV *)facts));
  }
  PUTBACK;
}

void mehari_registry_boot(pTHX) { newXS("Mehari::Inspect::_scripts", list_scripts, __FILE__); }

typedef struct {
  mehari_script *script;
} run;

static void call_script(pTHX_ void *argument)
{
  run *this = argument;
  SV *r = lives_in_cgi_world() ? NULL : script_request(aTHX);
  dSP;
  ENTER;
  SAVETMPS;
  PUSHMARK(SP);
  if (r)
    XPUSHs(r);
  PUTBACK;
  /* The call is not under G_EVAL, because to the script and to CGI::Carp the script's `die` must
   * not seem to be inside an eval. Perl writes the message to STDERR and leaves as exit does.
   * `mehari_exit_called` tells `die` from `exit`. */
  call_sv((SV *)this->script->code, G_VOID | G_DISCARD);
  FREETMPS;
  LEAVE;
}

/* Enters a script's folder by its descriptor. Most scripts share one folder, so the last
 * descriptor is kept. */
void mehari_enter_directory(const char *file)
{
  MEHARI_LARGE static char entered[4096];
  static int home = -1;
  if (home < 0) {
    home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    mehari_descriptor_claim(home);
  }
  const char *slash = file ? strrchr(file, '/') : NULL;
  size_t length = !slash ? 0 : slash > file ? slash - file : 1;
  if (!mehari_directory_changed && (length ? strlen(entered) == length && memEQ(entered, file, length) : !entered[0]))
    return;
  if (!slash) {
    if (entered[0] || mehari_directory_changed)
      (void)!fchdir(home);
    entered[0] = '\0';
  } else if (MEHARI_COPY(entered, ((mehari_text){file, length})))
    (void)!chdir(entered);
  mehari_directory_changed = false;
}

void mehari_set_program_name(pTHX_ const char *file)
{
  SV *name = GvSVn(gv_fetchpvs("0", GV_ADD | GV_NOTQUAL, SVt_PV));
  sv_setpv(name, file); /* set without magic, so the process keeps its title */
}

void mehari_unname_program(pTHX)
{
  SV **program = hv_fetchs(get_hv("Mehari::Server::fact", GV_ADD), "program", 0);
  mehari_set_program_name(aTHX_ program ? SvPV_nolen(*program) : "mehari");
}

/* Sets $0. FindBin reads it while the script is compiled. */
static void name_program(pTHX_ mehari_text file)
{
  SV *name = GvSVn(gv_fetchpvs("0", GV_ADD | GV_NOTQUAL, SVt_PV));
  sv_setpvn(name, file.at, file.length);
}

static SSize_t count_of_ends(void) { dTHX; return PL_endav ? av_top_index(PL_endav) + 1 : 0; }

/* As in mod_perl, END blocks of the files without a package that the script loads belong to the
 * script and run at the end of each of its requests. perl puts new blocks first. */
static void adopt_ends(pTHX_ mehari_script *script, SSize_t known)
{
  AV *all = PL_endav, *rest = NULL;
  SSize_t fresh = count_of_ends() - known;
  if (fresh <= 0)
    return;
  for (SSize_t i = av_top_index(all); i >= 0; i--) {
    SV *block = AvARRAY(all)[i];
    HV *package = CvSTASH((CV *)block);
    AV **into = i < fresh && (package == PL_defstash || package == script->stash) ? &script->ends : &rest;
    if (!*into)
      *into = newAV();
    av_unshift(*into, 1);
    (void)av_store(*into, 0, SvREFCNT_inc_NN(block));
  }
  SvREFCNT_dec((SV *)all);
  PL_endav = rest;
}

/* Runs the script. `ephemeral`: the script's globals end with the request. */
static void serve(pTHX_ mehari_script *script, bool ephemeral)
{
  run this = {script};
  mehari_enter_directory(enters_folder(aTHX) ? script->file : NULL);
  mehari_set_program_name(aTHX_ script->file);
  mehari_script_open_data(aTHX_ script);
  mehari_hooks_restore(aTHX_ & script->hooks);
  if (script->rebind_count)
    mehari_script_rebind(aTHX_ script);
  int exit_status = 0;
  SSize_t ends = count_of_ends();
  mehari_exit_called = false;
  uint64_t start = mehari_trace_start();
  mehari_outcome outcome = mehari_guard(aTHX_ call_script, &this, &exit_status);
  if (mehari_in_child)
    mehari_child_leave(aTHX_ outcome == MEHARI_EXITED ? exit_status : 0);
  mehari_trace_part(MEHARI_PART_SCRIPT, start, "script", (mehari_text){script->file, strlen(script->file)});
  if (outcome == MEHARI_EXITED && !mehari_exit_called && exit_status)
    outcome = MEHARI_DIED;
  if (outcome == MEHARI_DIED) {
    mehari_errors_name_script(script->file);
    mehari_rec_note_error(mehari_rec_now, mehari_errors_last());
  }
  adopt_ends(aTHX_ script, ends);
  mehari_call_list(aTHX_ script->ends);
  if (mehari_tap_is_open())
    mehari_pipes_conclude(aTHX_ !ephemeral);
  /* As in mod_perl, a body that was already printed is sent. If only a head was printed, the
   * response is a 500. */
  if (outcome == MEHARI_DIED && !mehari_output_has_body(aTHX)) {
    mehari_rec_fail(aTHX_ 500);
    return;
  }
  if (outcome == MEHARI_DIED) {
    mehari_rec_append_document(aTHX_ mehari_rec_now, 500);
    if (mehari_out_is_nested())
      mehari_out_fail_nested(500);
  }
  mehari_output_end(aTHX);
}

/* Answers for a script that was not run. `status` is what mehari_script_compile leaves. */
static void answer_without_running(pTHX_ int status)
{
  if (mehari_in_child)
    mehari_child_leave(aTHX_ status ? 255 : 0);
  if (!status && !mehari_output_bytes()) {
    mehari_text file = mehari_request_text(MEHARI_TEXT_TASK);
    mehari_logf(MEHARI_LOG_ERROR, "premature end of script headers: %.*s", (int)file.length, file.at);
    status = 500;
  }
  if (status)
    mehari_rec_fail(aTHX_ status);
  else
    mehari_output_end(aTHX);
}

void mehari_registry_serve(pTHX)
{
  int status;
  mehari_text task = mehari_request_text(MEHARI_TEXT_TASK);
  name_program(aTHX_ task);
  mehari_script *script = find(aTHX_ task, &status);
  if (script) {
    note_uri(aTHX_ script);
    serve(aTHX_ script, lives_in_cgi_world());
  } else
    answer_without_running(aTHX_ status);
  mehari_unname_program(aTHX);
}

void mehari_registry_preload(pTHX_ const char *file)
{
  int status;
  mehari_script *script = mehari_script_compile(aTHX_ file, MEHARI_AS_REGISTRY, &status);
  cache_key key;
  if (!script)
    croak("%s does not compile", file);
  if (make_key(&key, (mehari_text){file, strlen(file)}, false))
    keep(aTHX_ &key, script);
}

/* ---- perlrun ---- */

/* An entry of %INC. perl keeps equal keys once, so the address tells keys apart. The hash tells a
 * key from an earlier one that had its address. */
typedef struct {
  const HEK *key;
  U32 hash;
} loaded_file;

/* Returns the entries of %INC, as an array of `loaded_file`. A copy of the hash costs more than
 * many scripts. */
static SV *loaded_files(pTHX_ HV *inc)
{
  STRLEN count = HvUSEDKEYS(inc);
  SV *all = newSV(count * sizeof(loaded_file) + 1);
  loaded_file *next = (loaded_file *)SvPVX(all), *end = next + count;
  for (STRLEN bucket = 0; HvARRAY(inc) && bucket <= HvMAX(inc); bucket++)
    for (HE *entry = HvARRAY(inc)[bucket]; entry && next < end; entry = HeNEXT(entry))
      if (HeVAL(entry) != &PL_sv_placeholder)
        *next++ = (loaded_file){HeKEY_hek(entry), HeHASH(entry)};
  SvCUR_set(all, (char *)next - SvPVX(all));
  return all;
}

static bool was_loaded(SV *before, HE *entry)
{
  const loaded_file *known = (loaded_file *)SvPVX(before);
  for (STRLEN left = SvCUR(before) / sizeof *known; left; left--, known++)
    if (known->key == HeKEY_hek(entry) && known->hash == HeHASH(entry))
      return true;
  return false;
}

/* Perl files that the script loaded (`require "lib.pl"`) were compiled into its package and must
 * be read again. */
static void forget_local_files(pTHX_ SV *before)
{
  HV *inc = GvHVn(PL_incgv);
  AV *gone = newAV();
  hv_iterinit(inc);
  HE *entry;
  while ((entry = hv_iternext(inc))) {
    STRLEN length;
    const char *name = HePV(entry, length);
    if (!(length > 3 && memEQ(name + length - 3, ".pm", 3)) && !was_loaded(before, entry))
      av_push(gone, newSVsv(hv_iterkeysv(entry)));
  }
  for (SSize_t i = 0; i <= av_top_index(gone); i++)
    (void)hv_delete_ent(inc, AvARRAY(gone)[i], G_DISCARD, 0);
  SvREFCNT_dec((SV *)gone);
}

static void flush_namespace(pTHX_ mehari_script *script)
{
  HV *stash = script->stash;
  HV *parent = gv_stashpvs("ModPerl::ROOT::ModPerl::PerlRun", 0);
  const char *name = stash ? HvNAME(stash) : NULL, *last = name ? strrchr(name, ':') : NULL;
  SV *key = newSVpvf("%s::", last ? last + 1 : "");
  mehari_script_free(aTHX_ script);
  if (parent)
    (void)hv_delete_ent(parent, key, G_DISCARD, 0);
  SvREFCNT_dec(key);
}

void mehari_perlrun_serve(pTHX)
{
  mehari_text task = mehari_request_text(MEHARI_TEXT_TASK);
  char file[4097];
  int status = 414;
  HV *inc = GvHVn(PL_incgv);
  STRLEN known = HvUSEDKEYS(inc);
  SV *before = loaded_files(aTHX_ inc);
  mehari_script *script = NULL;
  if (MEHARI_COPY(file, task)) {
    mehari_enter_directory(enters_folder(aTHX) ? file : NULL);
    mehari_set_program_name(aTHX_ file);
    script = mehari_script_compile(aTHX_ file, MEHARI_AS_PERLRUN, &status);
  }
  if (script) {
    serve(aTHX_ script, true);
    flush_namespace(aTHX_ script);
  } else
    answer_without_running(aTHX_ status);
  if (HvUSEDKEYS(inc) != known)
    forget_local_files(aTHX_ before);
  SvREFCNT_dec(before);
}
