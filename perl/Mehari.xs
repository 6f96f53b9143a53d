/* The functions for the worker's Perl code: the zygote's start, and `$r`. */
#include "api/form.h"
#include "interpreter/interpreter.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "phases/settings.h"
#include "process/process.h"
#include "psgi/psgi.h"
#include "request/record.h"
#include "response/response.h"
#include "script/script.h"
#include "stdio/standard.h"

static SV *text_sv(pTHX_ mehari_text text) { return newSVpvn(text.at, text.length); }

MODULE = Mehari    PACKAGE = Mehari

PROTOTYPES: DISABLE

BOOT:
    mehari_threads_boot(aTHX);
    mehari_operators_install(aTHX);
    mehari_script_hooks(aTHX);
    mehari_request_boot(aTHX);
    mehari_psgi_boot(aTHX);
    mehari_table_boot(aTHX);
    mehari_subrequest_boot(aTHX);
    mehari_form_boot(aTHX);
    mehari_cgi_params_boot(aTHX);
    mehari_io_boot(aTHX);
    mehari_api_request_boot(aTHX);
    mehari_server_boot(aTHX);
    mehari_connections_boot(aTHX);
    mehari_filter_boot(aTHX);
    mehari_layers_boot(aTHX);
    mehari_inspection_boot(aTHX);
    mehari_deferred_boot(aTHX);

void
zygote(int control, int bell, int bell_event)
  CODE:
    mehari_zygote_run(aTHX_ control, bell, bell_event);

void
compile_script(SV *file)
  CODE:
    mehari_registry_preload(aTHX_ SvPV_nolen(file));

MODULE = Mehari    PACKAGE = Mehari::Script

void
top_level()
  CODE:
    mehari_script_top_level(aTHX);

MODULE = Mehari    PACKAGE = Apache2::RequestRec

void
rflush(SV *self)
  CODE:
    mehari_rec_of(aTHX_ self);
    mehari_flush_or_die(aTHX_ "Apache2::RequestIO::rflush");

SV *
content_type(SV *self, SV *value = NULL)
  ALIAS:
    uri = MEHARI_REC_URI
    filename = MEHARI_REC_FILENAME
    path_info = MEHARI_REC_PATH_INFO
    args = MEHARI_REC_ARGS
    method = MEHARI_REC_METHOD
    unparsed_uri = MEHARI_REC_UNPARSED_URI
    protocol = MEHARI_REC_PROTOCOL
    hostname = MEHARI_REC_HOSTNAME
    the_request = MEHARI_REC_THE_REQUEST
    handler = MEHARI_REC_HANDLER
    content_encoding = MEHARI_REC_CONTENT_ENCODING
    user = MEHARI_REC_USER
    ap_auth_type = MEHARI_REC_AUTH_TYPE
    status_line = MEHARI_REC_STATUS_LINE
  PREINIT:
    mehari_rec *rec;
    int which = ix ? ix : MEHARI_REC_CONTENT_TYPE;
    SV *held;
  CODE:
    rec = mehari_rec_of(aTHX_ self);
    held = mehari_rec_text(aTHX_ rec, which);
    RETVAL = held ? newSVsv(held) : newSV(0);
    if (value) {
      mehari_rec_set_text(aTHX_ rec, which, value);
      if (which == MEHARI_REC_CONTENT_TYPE && mehari_output_filter_runs())
        rec->is_type_of_filter = true; /* as in Apache, a filter changes what the script has printed */
      else if (which == MEHARI_REC_CONTENT_TYPE)
        mehari_parse_headers = false;
    }
  OUTPUT:
    RETVAL

int
status(SV *self, SV *status = NULL)
  PREINIT:
    mehari_rec *rec;
  CODE:
    rec = mehari_rec_of(aTHX_ self);
    RETVAL = rec->status ? rec->status : 200;
    if (status) {
      IV wanted = SvIV(status);
      if (wanted < 200 || wanted > 599)
        croak("status %" IVdf " is not from 200 to 599", wanted);
      rec->status = wanted;
    }
  OUTPUT:
    RETVAL

SV *
headers_in(SV *self)
  ALIAS:
    headers_out = MEHARI_TABLE_HEADERS_OUT
    err_headers_out = MEHARI_TABLE_ERR_HEADERS_OUT
    notes_table = MEHARI_TABLE_NOTES
  CODE:
    RETVAL = mehari_rec_table_object(aTHX_ mehari_rec_of(aTHX_ self), ix);
  OUTPUT:
    RETVAL

SV *
document_root(SV *self)
  ALIAS:
    client_ip = MEHARI_TEXT_REMOTE_ADDR
  CODE:
    mehari_rec_of(aTHX_ self);
    RETVAL = text_sv(aTHX_ mehari_request_text(ix ? ix : MEHARI_TEXT_DOCUMENT_ROOT));
  OUTPUT:
    RETVAL

SV *
location(SV *self)
  PREINIT:
    const mehari_settings *settings;
    SV *text;
  CODE:
    settings = mehari_rec_of(aTHX_ self)->settings;
    text = mehari_settings_text(aTHX_ settings, "location");
    RETVAL = text && SvCUR(text) ? newSVsv(text) : settings ? newSV(0) : text_sv(aTHX_ mehari_request_text(MEHARI_TEXT_SCRIPT_NAME));
  OUTPUT:
    RETVAL

bool
push_handlers(SV *self, SV *name, SV *handlers)
  PREINIT:
    mehari_rec *rec;
  CODE:
    rec = mehari_rec_of(aTHX_ self);
    RETVAL = mehari_rec_stack(aTHX_ rec, name, handlers, false);
  OUTPUT:
    RETVAL

bool
set_handlers(SV *self, SV *name, SV *handlers)
  PREINIT:
    mehari_rec *rec;
  CODE:
    rec = mehari_rec_of(aTHX_ self);
    RETVAL = mehari_rec_stack(aTHX_ rec, name, handlers, true);
  OUTPUT:
    RETVAL

SV *
get_handlers(SV *self, SV *name)
  PREINIT:
    AV *list, *copy;
    int phase;
  CODE:
    phase = mehari_rec_phase(aTHX_ name);
    list = phase < 0 ? NULL : mehari_rec_handlers(mehari_rec_of(aTHX_ self), phase);
    if (!list)
      XSRETURN_UNDEF;
    copy = newAV();
    for (SSize_t i = 0; list && i <= av_top_index(list); i++)
      av_push(copy, newSVsv(mehari_handler_code(aTHX_ AvARRAY(list)[i])));
    RETVAL = newRV_noinc((SV *)copy);
  OUTPUT:
    RETVAL

void
custom_response(SV *self, int status, SV *document)
  PREINIT:
    mehari_rec *rec;
  CODE:
    rec = mehari_rec_of(aTHX_ self);
    if (!rec->documents)
      rec->documents = newHV();
    (void)hv_store_ent(rec->documents, sv_2mortal(newSViv(status)), newSVsv(document), 0);

void
register_cleanup(SV *self, SV *code, SV *argument = &PL_sv_undef)
  PREINIT:
    mehari_rec *rec;
  CODE:
    rec = mehari_rec_of(aTHX_ self);
    if (!rec->cleanups)
      rec->cleanups = newAV();
    av_push(rec->cleanups, newSVsv(code));
    av_push(rec->cleanups, newSVsv(argument));

int
header_only(SV *self)
  CODE:
    mehari_rec_of(aTHX_ self);
    mehari_text method = mehari_request_text(MEHARI_TEXT_METHOD);
    RETVAL = method.length == 4 && memEQ(method.at, "HEAD", 4);
  OUTPUT:
    RETVAL

void
read(SV *self, SV *buffer, IV length, IV offset = 0)
  PPCODE:
    mehari_rec_of(aTHX_ self);
    if (length <= 0)
      croak("The LENGTH argument can't be negative"); /* mod_perl's words, for 0 too */
    if (mehari_input_refused)
      croak("Apache2::RequestIO::read: an input filter has failed");
    if (!SvOK(buffer))
      sv_setpvs(buffer, "");
    STRLEN have;
    (void)SvPV_force(buffer, have);
    if (offset < 0) {
      offset += have;
      if (offset < 0)
        croak("Offset outside string");
    }
    /* The requested length may exceed the memory. */
    if ((STRLEN)length > mehari_input_rest())
      length = mehari_input_rest();
    char *into = SvGROW(buffer, (STRLEN)offset + length + 1);
    if ((STRLEN)offset > have)
      Zero(into + have, offset - have, char);
    STRLEN got = mehari_input_read(into + offset, length);
    SvCUR_set(buffer, offset + got);
    *SvEND(buffer) = '\0';
    SvPOK_only(buffer);
    SvSETMAGIC(buffer);
    mXPUSHu(got);

void
log_error(SV *self, ...)
  ALIAS:
    warn = 1
  PREINIT:
    SV *line;
  CODE:
    PERL_UNUSED_VAR(self);
    line = newSVpvs_flags("", SVs_TEMP);
    for (int i = 1; i < items; i++)
      sv_catsv(line, ST(i));
    mehari_log(ix ? MEHARI_LOG_WARN : MEHARI_LOG_ERROR, SvPVX(line), SvCUR(line));
