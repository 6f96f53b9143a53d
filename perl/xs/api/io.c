/* The methods by which `$r` acts as a stream and as a tied handle, without `read`. */
#include "api/api.h"
#include "mailbox/mailbox.h"
#include "phases/phases.h"
#include "request/record.h"
#include "response/response.h"
#include "stdio/standard.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART 65536

void mehari_throw(pTHX_ int error, const char *function)
{
  load_module(PERL_LOADMOD_NOIMPORT, newSVpvs("APR::Error"), NULL);
  dSP;
  PUSHMARK(SP);
  mXPUSHi(error);
  mXPUSHs(newSVpv(function, 0));
  PUTBACK;
  call_pv("APR::Error::throw", G_VOID | G_DISCARD);
}

void mehari_flush_or_die(pTHX_ const char *function)
{
  if (mehari_output_waits() && mehari_client_has_left())
    mehari_throw(aTHX_ ECONNABORTED, function);
  mehari_output_flush();
}

/* Sends printed output to the client at once if `$|` is set. */
static void flush_if_asked(pTHX_ const char *function)
{
  if (PL_defoutgv && GvIO(PL_defoutgv) && IoFLAGS(GvIOp(PL_defoutgv)) & IOf_FLUSH)
    mehari_flush_or_die(aTHX_ function);
}

/* Returns the number of bytes written. Like mod_perl, returns "0E0" for no bytes, which is true. */
static SV *count_sv(pTHX_ STRLEN count) { return count ? sv_2mortal(newSVuv(count)) : newSVpvs_flags("0E0", SVs_TEMP); }

/* Writes text. Dies if the client has left and the text exceeds the buffer, as under mod_perl. */
static void write_text(pTHX_ mehari_text text, const char *function)
{
  if (mehari_output_is_lost(text.length))
    mehari_throw(aTHX_ ECONNABORTED, function);
  mehari_output_write(text.at, text.length);
}

/* Prints. As in mod_perl, characters are written as perl stores them, so decoded text is sent as
 * UTF-8. */
XS_INTERNAL(print)
{
  dXSARGS;
  dXSI32;
  STRLEN sum = 0;
  if (items < 1)
    croak_xs_usage(cv, "r, ...");
  MEHARI_CHECK(ST(0));
  mehari_phase_check_output(aTHX_ ix ? "puts" : "print");
  for (int i = 1; i < items; i++) {
    mehari_text text = mehari_sv_text(aTHX_ ST(i));
    write_text(aTHX_ text, "Apache2::RequestIO::print");
    sum += text.length;
  }
  flush_if_asked(aTHX_ "Apache2::RequestIO::print");
  ST(0) = count_sv(aTHX_ sum);
  XSRETURN(1);
}

XS_INTERNAL(print_format)
{
  dXSARGS;
  if (items < 2)
    croak_xs_usage(cv, "r, format, ...");
  MEHARI_CHECK(ST(0));
  mehari_phase_check_output(aTHX_ "printf");
  SV *line = newSVpvs_flags("", SVs_TEMP);
  do_sprintf(line, items - 1, &ST(1));
  mehari_text text = mehari_sv_text(aTHX_ line);
  write_text(aTHX_ text, "Apache2::RequestIO::printf");
  flush_if_asked(aTHX_ "Apache2::RequestIO::printf");
  ST(0) = count_sv(aTHX_ text.length);
  XSRETURN(1);
}

/* write($buffer, $length, $offset): writes part of the buffer. A missing length, or -1, means
 * everything. Invalid values are refused with perl's messages, unlike in mod_perl, which reads
 * outside of the buffer. */
XS_INTERNAL(write_part)
{
  dXSARGS;
  if (items < 2 || items > 4)
    croak_xs_usage(cv, "r, buffer, [length, [offset]]");
  MEHARI_CHECK(ST(0));
  mehari_text text = mehari_sv_text(aTHX_ ST(1));
  IV length = items > 2 ? SvIV(ST(2)) : -1, offset = items > 3 ? SvIV(ST(3)) : 0;
  if (offset < 0)
    offset += text.length;
  if (offset < 0 || (STRLEN)offset > text.length)
    croak("Offset outside string");
  if (length < -1)
    croak("Negative length");
  if (length < 0 || (STRLEN)length > text.length - offset)
    length = text.length - offset;
  write_text(aTHX_ (mehari_text){text.at + offset, length}, "Apache2::RequestIO::write");
  XSRETURN_IV(length);
}

/* Sends up to `length` bytes of an open file (0: all). Returns the system's error number, or 0. */
static int send_file(int file, off_t offset, size_t length)
{
  char *part = safemalloc(PART);
  int error = 0;
  for (size_t left = length; !length || left;) {
    ssize_t got = pread(file, part, length && left < PART ? left : PART, offset);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      error = got < 0 ? errno : 0;
      break;
    }
    if (mehari_output_is_lost(got)) {
      error = ECONNABORTED;
      break;
    }
    mehari_output_write(part, got);
    offset += got;
    left -= length ? got : 0;
  }
  Safefree(part);
  return error;
}

/* sendfile($name, $offset, $length): sends part of a file. After an error it dies with an
 * APR::Error in void context, and otherwise returns the error's number. */
XS_INTERNAL(sendfile)
{
  dXSARGS;
  if (items < 2 || items > 4)
    croak_xs_usage(cv, "r, filename, [offset, [length]]");
  MEHARI_CHECK(ST(0));
  bool wants_status = GIMME_V != G_VOID;
  off_t offset = items > 2 ? SvIV(ST(2)) : 0;
  IV length = items > 3 ? SvIV(ST(3)) : 0;
  if (offset < 0 || length < 0)
    croak("sendfile: the offset and the length are not negative");
  int file = open(SvPV_nolen(ST(1)), O_RDONLY | O_CLOEXEC);
  struct stat about;
  int error = file < 0 || fstat(file, &about) < 0 ? errno : S_ISREG(about.st_mode) ? 0 : EISDIR;
  if (!error)
    error = send_file(file, offset, length);
  if (file >= 0)
    close(file);
  if (error && !wants_status)
    mehari_throw(aTHX_ error, form("Apache2::RequestIO::sendfile('%s')", SvPV_nolen(ST(1))));
  XSRETURN_IV(error);
}

/* ---- reading by lines and characters, for tied handles ---- */

XS_INTERNAL(getc_one)
{
  dXSARGS;
  char one;
  PERL_UNUSED_VAR(items);
  MEHARI_CHECK(ST(0));
  if (!mehari_input_read(&one, 1))
    XSRETURN_UNDEF;
  ST(0) = newSVpvn_flags(&one, 1, SVs_TEMP);
  XSRETURN(1);
}

/* Returns the next line as `$/` defines a line. NULL: the body has ended. */
static SV *read_line(pTHX)
{
  SV *separator = get_sv("/", 0);
  STRLEN length = 0;
  const char *end = separator && SvOK(separator) && !SvROK(separator) ? SvPV(separator, length) : NULL;
  IV most = separator && SvROK(separator) ? SvIV(SvRV(separator)) : 0;
  SV *line = newSVpvs("");
  char one;
  while ((!most || (IV)SvCUR(line) < most) && mehari_input_read(&one, 1)) {
    sv_catpvn(line, &one, 1);
    if (length && SvCUR(line) >= length && memEQ(SvEND(line) - length, end, length))
      break;
  }
  if (SvCUR(line))
    return sv_2mortal(line);
  SvREFCNT_dec(line);
  return NULL;
}

XS_INTERNAL(readline)
{
  dXSARGS;
  PERL_UNUSED_VAR(items);
  MEHARI_CHECK(ST(0));
  SP -= items;
  SV *line = read_line(aTHX);
  if (GIMME_V != G_LIST) {
    XPUSHs(line ? line : &PL_sv_undef);
  } else
    for (; line; line = read_line(aTHX))
      XPUSHs(line);
  PUTBACK;
}

/* ---- for perl/lib ---- */

/* Mehari::log_line($level, $text): logs a line. The levels are Apache's, 0 (emerg) to 7 (debug). */
XS_INTERNAL(log_line)
{
  dXSARGS;
  if (items != 2)
    croak_xs_usage(cv, "level, text");
  IV level = SvIV(ST(0));
  mehari_text text = mehari_sv_text(aTHX_ ST(1));
  mehari_log(level < 0 ? 0 : level > 7 ? 7 : (int)level, text.at, text.length);
  XSRETURN_EMPTY;
}

/* $r->_addresses: returns the client's address and port, then the server's address and port. */
XS_INTERNAL(addresses)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "r");
  MEHARI_CHECK(ST(0));
  mehari_text remote = mehari_request_text(MEHARI_TEXT_REMOTE_ADDR), local = mehari_request_text(MEHARI_TEXT_SERVER_ADDR);
  SP -= items;
  EXTEND(SP, 4);
  mPUSHp(remote.at, remote.length);
  mPUSHu(mehari_now.frame->remote_port);
  mPUSHp(local.at, local.length);
  mPUSHu(mehari_now.frame->server_port);
  PUTBACK;
}

/* $r->_scheme and similar methods: return one of the frame's texts. */
XS_INTERNAL(frame_text)
{
  dXSARGS;
  dXSI32;
  if (items != 1)
    croak_xs_usage(cv, "r");
  MEHARI_CHECK(ST(0));
  mehari_text text = mehari_request_text(ix);
  ST(0) = newSVpvn_flags(text.at, text.length, SVs_TEMP);
  XSRETURN(1);
}

/* $r->_languages: returns the languages that the file's name gives, with commas. */
XS_INTERNAL(languages)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "r");
  mehari_text text = mehari_rec_languages(aTHX_ mehari_rec_of(aTHX_ ST(0)));
  ST(0) = newSVpvn_flags(text.at, text.length, SVs_TEMP);
  XSRETURN(1);
}

/* $r->_head_is_set: makes later printed output part of the body. */
XS_INTERNAL(head_is_set)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "r");
  MEHARI_CHECK(ST(0));
  mehari_parse_headers = false;
  XSRETURN_EMPTY;
}

XS_INTERNAL(bytes_sent)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "r");
  mehari_rec *rec = mehari_rec_of(aTHX_ ST(0));
  XSRETURN_UV(rec->has_outcome ? rec->bytes_of_front : mehari_output_bytes_sent());
}

/* Mehari::limit($number, $soft, $hard): calls setrlimit. After a failure $! has the reason. */
XS_INTERNAL(limit)
{
  dXSARGS;
  if (items != 3)
    croak_xs_usage(cv, "number, soft, hard");
  struct rlimit wanted = {(rlim_t)SvNV(ST(1)), (rlim_t)SvNV(ST(2))};
  XSRETURN_IV(setrlimit(SvIV(ST(0)), &wanted) == 0);
}

/* $c->aborted */
XS_INTERNAL(aborted)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "connection");
  XSRETURN_IV(mehari_client_has_left());
}

void mehari_io_boot(pTHX)
{
  static const mehari_sub subs[] = {
    {"Apache2::RequestRec::print", print, 0}, {"Apache2::RequestRec::puts", print, 1},
    {"Apache2::RequestRec::PRINT", print, 0}, {"Apache2::RequestRec::printf", print_format, 0},
    {"Apache2::RequestRec::PRINTF", print_format, 0}, {"Apache2::RequestRec::write", write_part, 0},
    {"Apache2::RequestRec::WRITE", write_part, 0}, {"Apache2::RequestRec::sendfile", sendfile, 0},
    {"Apache2::RequestRec::GETC", getc_one, 0}, {"Apache2::RequestRec::READLINE", readline, 0},
    {"Apache2::RequestRec::_addresses", addresses, 0}, {"Apache2::RequestRec::_scheme", frame_text, MEHARI_TEXT_SCHEME},
    {"Apache2::RequestRec::_server_name", frame_text, MEHARI_TEXT_SERVER_NAME}, {"Apache2::RequestRec::_languages", languages, 0}, {"Apache2::RequestRec::_head_is_set", head_is_set, 0},
    {"Apache2::RequestRec::bytes_sent", bytes_sent, 0}, {"Apache2::Connection::aborted", aborted, 0},
  };
  static const mehari_sub others[] = {{"Mehari::log_line", log_line, 0}, {"Mehari::limit", limit, 0}};
  MEHARI_DEFINE(subs);
  mehari_define(aTHX_ others, C_ARRAY_LENGTH(others));
}
