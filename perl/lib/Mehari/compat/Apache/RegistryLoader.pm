package Apache::RegistryLoader;

use strict;
use warnings;
use ModPerl::RegistryLoader ();

our @ISA = ('ModPerl::RegistryLoader');

# Compiles scripts while the server starts, under mod_perl 1's name.
sub new { my ($class, @option) = @_; return $class->SUPER::new(package => 'Apache::Registry', @option) }

1;

__END__

=head1 NAME

Apache::RegistryLoader - compile scripts before the workers start

=head1 SYNOPSIS

    use Apache::RegistryLoader ();
    my $loader = Apache::RegistryLoader->new;
    # in a start-up file: $loader->handler('/perl/index.pl', '/srv/www/perl/index.pl');

=head1 DESCRIPTION

The class is a L<ModPerl::RegistryLoader>.

=head1 METHODS

=over 4

=item new(OPTION => VALUE ...)

Returns a loader for Apache::Registry.

=back

=head1 DIFFERENCES

The name of the package has no effect, because the server finds compiled scripts by their file.

=head1 SEE ALSO

L<ModPerl::RegistryLoader>.

=cut
