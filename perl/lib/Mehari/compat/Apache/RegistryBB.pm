package Apache::RegistryBB;

# Runs a script as mod_perl 1's Apache::RegistryBB does: a compiled script is never checked again.

use strict;
use warnings;
use ModPerl::RegistryBB ();

our @ISA = ('ModPerl::RegistryBB');

sub handler { my $class = @_ >= 2 ? shift : __PACKAGE__; return $class->new(shift)->default_handler }

sub chdir_file { my ($self, @folder) = @_; return $self->chdir_file_normal(@folder) }

1;

__END__

=head1 NAME

Apache::RegistryBB - mod_perl 1's script handler without a look at the file

=head1 SYNOPSIS

    PerlHandler Apache::RegistryBB

=head1 DESCRIPTION

The class is a L<ModPerl::RegistryBB>. In addition it enters the script's own folder. In the
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

L<ModPerl::RegistryBB>, L<Apache::Registry>.

=cut
