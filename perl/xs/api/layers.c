/* PerlIO layers that mod_perl's programs name when they open a file. `:Apache2` is the request's
 * own input or output. `:APR` is a buffered file, whose `open` takes a pool after the file's
 * name. */
#include "api/api.h"
#include "request/record.h"
#include "stdio/standard.h"
#include <fcntl.h>
#include <unistd.h>

static PerlIO_funcs apr_layer, request_layer;

/* `open my $file, '<:APR', $name, $pool`: the pool is ignored, because perl itself closes the
 * file. */
static PerlIO *open_apr(pTHX_ PerlIO_funcs *self, PerlIO_list_t *layers, IV n, const char *mode, int file, int flags, int permissions,
                        PerlIO *old, int count, SV **arguments)
{
  return PerlIOBuf_open(aTHX_ self, layers, n, mode, file, flags, permissions, old, count > 1 ? 1 : count, arguments);
}

/* Opens descriptor 0 or 1 if it is closed, as after `close STDOUT`, because perl opens no handle on
 * a closed descriptor. */
static void have_descriptor(bool reads)
{
  int number = reads ? 0 : 1;
  if (fcntl(number, F_GETFD) >= 0)
    return;
  if (!reads) {
    mehari_stdout_restore_descriptor();
    return;
  }
  int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (file > number) {
    dup2(file, number);
    close(file);
  }
}

/* Opens the request's input or output: `open STDOUT, '>:Apache2', $r`. */
static PerlIO *open_request(pTHX_ PerlIO_funcs *self, PerlIO_list_t *layers, IV n, const char *mode, int file, int flags, int permissions,
                            PerlIO *old, int count, SV **arguments)
{
  PERL_UNUSED_ARG(self);
  PERL_UNUSED_ARG(layers);
  PERL_UNUSED_ARG(n);
  PERL_UNUSED_ARG(file);
  PERL_UNUSED_ARG(flags);
  PERL_UNUSED_ARG(permissions);
  if (!count || !mehari_rec_now)
    return NULL;
  MEHARI_CHECK(arguments[0]);
  bool reads = strchr(mode, 'r') != NULL;
  have_descriptor(reads);
  PerlIO *handle = old ? old : PerlIO_allocate(aTHX);
  return PerlIO_push(aTHX_ handle, reads ? &mehari_input_layer : mehari_output_layer(), mode, NULL);
}

/* Mehari::take_ends($package): removes the END blocks of a package from perl and returns them in
 * the order in which they were compiled. */
XS_INTERNAL(take_ends)
{
  dXSARGS;
  if (items != 1)
    croak_xs_usage(cv, "package");
  HV *package = gv_stashsv(ST(0), 0);
  SP -= items;
  for (SSize_t i = PL_endav && package ? av_top_index(PL_endav) : -1; i >= 0; i--) {
    SV *block = AvARRAY(PL_endav)[i];
    if (CvSTASH((CV *)block) != package)
      continue;
    mXPUSHs(newRV_inc(block));
    AV *rest = newAV();
    for (SSize_t other = 0; other <= av_top_index(PL_endav); other++) {
      if (other != i)
        av_push(rest, SvREFCNT_inc_NN(AvARRAY(PL_endav)[other]));
    }
    SvREFCNT_dec((SV *)PL_endav);
    PL_endav = rest;
  }
  PUTBACK;
}

void mehari_layers_boot(pTHX)
{
  static const mehari_sub subs[] = {{"Mehari::take_ends", take_ends, 0}};
  MEHARI_DEFINE(subs);
  apr_layer = PerlIO_perlio;
  apr_layer.name = "APR";
  apr_layer.kind |= PERLIO_K_MULTIARG;
  apr_layer.Open = open_apr;
  PerlIO_define_layer(aTHX_ &apr_layer);
  request_layer = mehari_input_layer;
  request_layer.name = "Apache2";
  request_layer.Open = open_request;
  PerlIO_define_layer(aTHX_ &request_layer);
}
