package Apache2::Upload;

# An uploaded file.

use strict;
use warnings;
use APR::Request::Param ();

our $VERSION = '2.17';
our @ISA     = ('APR::Request::Param');

sub filename { return $_[0]{value} }
sub size     { return $_[0]{size} }
sub type     { return $_[0]->upload_type }
sub fh       { return $_[0]->upload_fh }
sub io       { return $_[0]->upload_fh }
sub link     { my ($self, $path) = @_; return $self->upload_link($path) }
sub slurp    { my $self = shift; return $self->upload_slurp($_[0]) }
sub tempname { return $_[0]->upload_tempname }
sub tempfile { return $_[0]->upload_tempname }

# Apache2::Upload->new($request, $name): the same as $request->upload($name)
sub new { my ($class, $request, $name) = @_; return $request->upload($name) }

1;
