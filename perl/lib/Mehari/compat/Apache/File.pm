package Apache::File;

# Provides mod_perl 1's file handles. mod_perl 1's methods of `$r` in this module are in
# Apache2::Response.

use strict;
use warnings;
use Apache ();
use Apache2::RequestIO   ();
use Apache2::RequestUtil ();
use Apache2::Response    ();
use File::Temp ();
use Symbol     ();

# new($name) returns a handle. If the file cannot be opened, it returns undef and $! has the reason.
sub new {
    my ($class, @name) = @_;
    my $self = bless Symbol::gensym(), ref $class || $class;
    return $self unless @name;
    return $self->open(@name) ? $self : undef;
}

sub open {
    my ($self, $name, @how) = @_;
    return @how ? CORE::open($self, $name, @how) : CORE::open($self, $name);
}

sub close { my ($self) = @_; return CORE::close $self }

# Makes a file that is removed at the end of the request. Returns the name and the handle, or only
# the handle in scalar context.
sub tmpfile {
    my ($class) = @_;
    my ($handle, $name) = File::Temp::tempfile('apacheXXXXXX', TMPDIR => 1, UNLINK => 0);
    Apache2::RequestUtil->request->pool->cleanup_register(sub { unlink $name });
    bless $handle, ref $class || $class;
    return wantarray ? ($name, $handle) : $handle;
}

1;

__END__

=head1 NAME

Apache::File - mod_perl 1's file handles

=head1 SYNOPSIS

    use Apache::File ();
    my $file = Apache::File->new('/etc/hostname') or die $!;
    my $name = <$file>;

=head1 DESCRIPTION

Loading this module also loads L<Apache2::Response>, whose methods mod_perl 1 had here.

=head1 METHODS

=over 4

=item new([NAME])

Returns a handle. With a NAME, the handle is open for reading. If the file cannot be opened, it
returns undef, and C<$!> says why.

=item open(NAME, [MODE, PERMISSIONS])

Opens a file as perl's C<open> does. Returns true if the file is open.

=item close

Closes the handle.

=item tmpfile

A class method. Makes a file that is removed at the end of the request. Returns the name of the file
and a handle, or only the handle in scalar context. Dies outside of a request.

=back

=head1 DIFFERENCES

None is known.

=head1 SEE ALSO

L<Apache2::Response>, L<IO::File>.

=cut
