package Site::Page;
use strict;
use warnings;
use Apache2::Const -compile => 'OK';
sub handler { my ($r) = @_; $r->content_type('text/plain'); $r->print("first\n"); return Apache2::Const::OK }
1;
