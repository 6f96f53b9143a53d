package Apache2::Request;

# Provides libapreq2's request. `Apache2::Request->new($r)` returns an `$r` with parameters, uploads
# and cookies. An object of a subclass may be a hash that holds such an object: `{ r => $apreq }`.

use strict;
use warnings;
use APR::Request::Apache2 ();
use Apache2::RequestRec   ();
use Apache2::Upload       ();

our $VERSION = '2.17';
our @ISA     = qw(APR::Request::Apache2 Apache2::RequestRec);

my %OPTION = (
    POST_MAX        => \&APR::Request::read_limit,
    MAX_BODY        => \&APR::Request::read_limit,
    READ_LIMIT      => \&APR::Request::read_limit,
    BRIGADE_LIMIT   => \&APR::Request::brigade_limit,
    MAX_BRIGADE     => \&APR::Request::brigade_limit,
    TEMP_DIR        => \&APR::Request::temp_dir,
    DISABLE_UPLOADS => sub { $_[0]->_refuse_uploads($_[1]) },
    HOOK_DATA       => sub { },
    UPLOAD_HOOK     => sub { },
);

# new($r, POST_MAX => bytes, DISABLE_UPLOADS => 1, TEMP_DIR => folder, ...)
sub new {
    my ($class, $r, %option) = @_;
    my $self = $class->_new($r);
    return $self unless %option;
    for my $name (keys %option) {
        my $set = $OPTION{ uc $name } or die "Apache2::Request->new: there is no option $name; there are " . join(', ', sort keys %OPTION) . "\n";
        $self->$set($option{$name});
        $option{ uc $name } = $option{$name};
    }
    $self->upload_hook($option{UPLOAD_HOOK}, $option{HOOK_DATA}) if $option{UPLOAD_HOOK};
    return $self;
}

# Returns the only object of the request. The first call makes this object.
sub instance {
    my ($class, $r, @options) = @_;
    return APR::Request::_instance() || APR::Request::_instance($class->new($r, @options));
}

sub _upload { my ($self, $parts) = @_; return Apache2::Upload->of_upload($self, @$parts) }

1;

__END__

=head1 NAME

Apache2::Request - libapreq2's request: parameters, uploads and cookies

=head1 SYNOPSIS

    use Apache2::Request ();

    sub handler {
        my $r = shift;
        my $form = Apache2::Request->new($r, POST_MAX => 1 << 20, TEMP_DIR => '/srv/tmp');
        my $name = $form->param('name');
        my @tags = $form->param('tag');
        my $photo = $form->upload('photo');
        $photo->link('/srv/photos/new') if $photo;
        return 0;
    }

=head1 DESCRIPTION

The object has the methods of L<APR::Request> and the methods of the request. An object of a
subclass may be a hash whose key C<r> holds an object of this class. The case of a parameter's name
does not matter.

=head1 METHODS

=over 4

=item new(R, OPTION => VALUE ...)

Returns the object. Dies for an unknown option.

=item instance(R, OPTION => VALUE ...)

Returns the object of this request. The first call makes the object, and later calls return it.

=back

=head1 OPTIONS

=over 4

=item POST_MAX, MAX_BODY, READ_LIMIT => BYTES

The size of the largest allowed body.

=item DISABLE_UPLOADS => FLAG

If true, a form with files is refused.

=item TEMP_DIR => FOLDER

The folder for the files of uploads.

=item BRIGADE_LIMIT, MAX_BRIGADE => BYTES

Uploads larger than this are kept in files, and smaller uploads in memory. The default is 256 KiB.

=item UPLOAD_HOOK => CODE, HOOK_DATA => VALUE

The code is called for each piece of an upload. The arguments are the upload, the piece, the length
of the piece, and HOOK_DATA. The piece of the last call is empty.

=back

=head1 ERRORS

When a program first reads an invalid form, the method dies with an L<APR::Request::Error>. If
nothing catches this error, it gives the status of the response: 400 for broken C<%> codes and
malformed multipart, 413 for a body over the limit, 403 for a refused file.

=head1 DIFFERENCES

The whole body has arrived before Perl runs, so hooks are called when the object is made. A form may
have at most 100,000 parameters. The parsed form belongs to the request. All objects of one request
share it.

=head1 SEE ALSO

L<APR::Request>, L<Apache2::Upload>, L<Apache2::Cookie>, F<docs/reference/modperl.md>.

=cut
