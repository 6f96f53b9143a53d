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

__END__

=head1 NAME

Apache2::Upload - a file of a form

=head1 SYNOPSIS

    use Apache2::Request ();

    sub handler {
        my $r = shift;
        my $upload = Apache2::Request->new($r)->upload('photo') or return 400;
        my ($name, $bytes) = ($upload->filename, $upload->size);
        $upload->link("/srv/photos/$$.jpg");
        return 0;
    }

=head1 DESCRIPTION

An upload is a range of the request's body; it is copied only when a method asks for it. The
class is a L<APR::Request::Param>.

=head1 METHODS

=over 4

=item filename, name

The name of the file as the client sent it, and the name of the field.

=item size

Its length in bytes.

=item type

Its media type without parameters, or the empty text.

=item info

The fields of the part, an L<APR::Table>.

=item slurp(BUFFER)

Puts the whole content into the buffer. Returns its length.

=item fh, io

A handle on the content, in memory or in an unlinked file of TEMP_DIR.

=item link(PATH)

Writes the content to a new file with the permissions 0600. Returns 1. Dies if the file exists
or cannot be written.

=item tempname, tempfile

The name of a file with the content, which is removed with the request.

=item new(REQUEST, NAME)

The same as C<< $request->upload($name) >>.

=back

=head1 DIFFERENCES

C<link> copies the content. The name of the client's file is not checked: never use it as a
path.

=head1 SEE ALSO

L<Apache2::Request>, L<APR::Request::Param>, L<Apache::Upload>.

=cut
