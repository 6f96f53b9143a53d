package Own::Trail;
use strict;
use warnings FATAL => 'all';
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::RequestUtil ();
use APR::Table ();
use ModPerl::Util ();
use Apache2::Const -compile => qw(OK DECLINED);
sub init { my $r = shift; $r->notes->set(init => ModPerl::Util::current_callback()); Apache2::Const::OK }
1;
