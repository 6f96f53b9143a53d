package Apache::RegistryNG;

# Runs a script as mod_perl 1's Apache::RegistryNG does. It can be subclassed.

use strict;
use warnings;
use ModPerl::Registry ();

our @ISA = ('ModPerl::Registry');

sub handler { my $class = @_ >= 2 ? shift : __PACKAGE__; return $class->new(shift)->default_handler }

sub chdir_file { my ($self, @folder) = @_; return $self->chdir_file_normal(@folder) }

1;

__END__

=head1 NAME

Apache::RegistryNG - mod_perl 1's script handler for subclasses

=head1 SYNOPSIS

    PerlHandler Apache::RegistryNG

=head1 DESCRIPTION

The class is a L<ModPerl::Registry>. In addition it enters the script's own folder. In the
configuration, its name replaces L<Apache::Registry>.

=head1 METHODS

=over 4

=item handler(R)

Runs the script of a request. Returns a status.

=item chdir_file([FOLDER])

Enters the script's folder. With a FOLDER, it enters the server's folder.

=back

=head1 DIFFERENCES

The server itself does the work of this handler, in C, on the rung C<registry>
(L<ModPerl::Registry>). The methods are for subclasses.

=head1 SEE ALSO

L<ModPerl::RegistryCooker>, L<Apache::Registry>.

=cut
