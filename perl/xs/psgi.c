/* The rung `psgi`. */
#include "mehari.h"

void mehari_psgi_open(pTHX) { PERL_UNUSED_CONTEXT; }
void mehari_psgi_serve(pTHX) { PERL_UNUSED_CONTEXT; mehari_output_error(500); }
