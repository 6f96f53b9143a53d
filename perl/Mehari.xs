/* What Perl code of the worker may call: the zygote's start, and `$r`. */
#include "xs/api.h"

void mehari_request_check(pTHX_ SV *self);
int *mehari_request_status(void);
SV **mehari_request_content_type(void);
SV *mehari_request_table(pTHX_ int which);

static SV *text_sv(pTHX_ mehari_text text) { return newSVpvn(text.at, text.length); }

MODULE = Mehari    PACKAGE = Mehari

PROTOTYPES: DISABLE

BOOT:
    mehari_hooks_install(aTHX);
    mehari_script_hooks(aTHX);
    mehari_request_boot(aTHX);
    mehari_psgi_boot(aTHX);
    mehari_table_boot(aTHX);

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
print(SV *self, ...)
  ALIAS:
    puts = 1
  PREINIT:
    STRLEN sum = 0;
  PPCODE:
    mehari_request_check(aTHX_ self);
    for (int i = 1; i < items; i++) {
      STRLEN length;
      SV *part = ST(i);
      const char *bytes = SvUTF8(part) ? SvPVutf8(part, length) : SvPV(part, length);
      mehari_output_write(bytes, length);
      sum += length;
    }
    if (IoFLAGS(GvIOp(PL_defoutgv)) & IOf_FLUSH)
      mehari_output_flush();
    if (sum)
      mXPUSHu(sum);
    else
      mXPUSHp("0E0", 3);
    PERL_UNUSED_VAR(ix);

void
rflush(SV *self)
  CODE:
    mehari_request_check(aTHX_ self);
    mehari_output_flush();

SV *
content_type(SV *self, SV *type = NULL)
  PREINIT:
    SV **held;
  CODE:
    mehari_request_check(aTHX_ self);
    held = mehari_request_content_type();
    RETVAL = *held ? newSVsv(*held) : newSV(0);
    if (type) {
      if (*held)
        sv_setsv(*held, type);
      else
        *held = newSVsv(type);
      mehari_parse_headers = false;
    }
  OUTPUT:
    RETVAL

int
status(SV *self, SV *status = NULL)
  CODE:
    mehari_request_check(aTHX_ self);
    RETVAL = *mehari_request_status() ? *mehari_request_status() : 200;
    if (status) {
      IV wanted = SvIV(status);
      if (wanted < 200 || wanted > 599)
        croak("status %" IVdf " is not from 200 to 599", wanted);
      *mehari_request_status() = wanted;
    }
  OUTPUT:
    RETVAL

SV *
headers_in(SV *self)
  ALIAS:
    headers_out = 1
    err_headers_out = 2
    notes_table = 3
  CODE:
    mehari_request_check(aTHX_ self);
    RETVAL = mehari_request_table(aTHX_ ix);
  OUTPUT:
    RETVAL

SV *
method(SV *self)
  ALIAS:
    unparsed_uri = MEHARI_TEXT_TARGET
    filename = MEHARI_TEXT_TASK
    path_info = MEHARI_TEXT_PATH_INFO
    protocol = MEHARI_TEXT_PROTOCOL
    hostname = MEHARI_TEXT_SERVER_NAME
    document_root = MEHARI_TEXT_DOCUMENT_ROOT
    location = MEHARI_TEXT_SCRIPT_NAME
    client_ip = MEHARI_TEXT_REMOTE_ADDR
  CODE:
    mehari_request_check(aTHX_ self);
    RETVAL = text_sv(aTHX_ mehari_request_text(ix ? ix : MEHARI_TEXT_METHOD));
  OUTPUT:
    RETVAL

SV *
args(SV *self)
  CODE:
    mehari_request_check(aTHX_ self);
    mehari_text query = mehari_request_text(MEHARI_TEXT_QUERY);
    RETVAL = query.length ? text_sv(aTHX_ query) : newSV(0);
  OUTPUT:
    RETVAL

SV *
uri(SV *self)
  CODE:
    mehari_request_check(aTHX_ self);
    RETVAL = text_sv(aTHX_ mehari_request_text(MEHARI_TEXT_SCRIPT_NAME));
    mehari_text info = mehari_request_text(MEHARI_TEXT_PATH_INFO);
    sv_catpvn(RETVAL, info.at, info.length);
  OUTPUT:
    RETVAL

bool
header_only(SV *self)
  CODE:
    mehari_request_check(aTHX_ self);
    mehari_text method = mehari_request_text(MEHARI_TEXT_METHOD);
    RETVAL = method.length == 4 && memEQ(method.at, "HEAD", 4);
  OUTPUT:
    RETVAL

void
read(SV *self, SV *buffer, IV length, IV offset = 0)
  PPCODE:
    mehari_request_check(aTHX_ self);
    if (length < 0)
      croak("a length to read must not be negative");
    if (!SvOK(buffer))
      sv_setpvs(buffer, "");
    STRLEN have;
    (void)SvPV_force(buffer, have);
    if (offset < 0) {
      if ((STRLEN)-offset > have)
        croak("the offset is outside the string");
      offset += have;
    }
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
