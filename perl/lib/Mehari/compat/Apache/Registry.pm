package Apache::Registry;

# Runs a script as mod_perl 1 does. This module serves subclasses and direct calls. For the handler
# `Apache::Registry` itself, the server uses C code, on the rung `registry`.

use strict;
use warnings;
use ModPerl::Registry ();

our @ISA = ('ModPerl::Registry');

sub handler { my $class = @_ >= 2 ? shift : __PACKAGE__; return $class->new(shift)->default_handler }

sub chdir_file { my ($self, @folder) = @_; return $self->chdir_file_normal(@folder) }

sub namespace_from { return $_[0]->namespace_from_uri }

1;

__END__

=head1 NAME

Apache::Registry - mod_perl 1's script handler

=head1 SYNOPSIS

    <Location /perl/>
        SetHandler perl-script
        PerlHandler Apache::Registry
        Options +ExecCGI
    </Location>

=head1 DESCRIPTION

The server itself does the work of this handler, in C, on the rung C<registry>
(L<ModPerl::Registry>). The script's C<$r> is an L<Apache> object, and the working directory is the
script's folder. This class is for subclasses and direct calls.

=head1 METHODS

=over 4

=item handler(R)

Runs the script of a request. Returns a status.

=item namespace_from, chdir_file([FOLDER])

Override steps of L<ModPerl::RegistryCooker>. C<namespace_from> makes the name of the package from
the URI. C<chdir_file> enters the script's folder. With a FOLDER, it enters the server's folder.

=back

=head1 DIFFERENCES

See L<ModPerl::Registry>.

=head1 SEE ALSO

L<ModPerl::Registry>, L<Apache::PerlRun>.

=cut
