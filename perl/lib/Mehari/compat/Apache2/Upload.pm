package Apache2::Upload;

# Represents an uploaded file.

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

# Apache2::Upload->new($request, $name) does the same as $request->upload($name).
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

An upload is a range of the request's body. Its content is copied only if a method needs a copy. The
class is an L<APR::Request::Param>.

=head1 METHODS

=over 4

=item filename, name

C<filename> returns the name of the file as the client sent it. C<name> returns the name of the
form's field.

=item size

Returns the length of the content in bytes.

=item type

Returns the media type without parameters, or the empty text.

=item info

Returns the header fields of the upload, an L<APR::Table>.

=item slurp(BUFFER)

Puts the whole content into the buffer. Returns the length of the content.

=item fh, io

Return a handle on the content, which is in memory or in an unlinked file of TEMP_DIR.

=item link(PATH)

Writes the content to a new file with the permissions 0600. Returns 1. Dies if the file exists
or cannot be written.

=item tempname, tempfile

Return the name of a file with the content. The file is removed at the end of the request.

=item new(REQUEST, NAME)

Does the same as C<< $request->upload($name) >>.

=back

=head1 DIFFERENCES

C<link> copies the content, and makes no hard link. C<filename> is not checked: never use it as a
path.

=head1 SEE ALSO

L<Apache2::Request>, L<APR::Request::Param>, L<Apache::Upload>.

=cut
