package Apache::PerlRun;

# Runs a script as mod_perl 1 does: compiles the script for each request.

use strict;
use warnings;
use ModPerl::PerlRun ();

our @ISA = ('ModPerl::PerlRun');

sub handler { my $class = @_ >= 2 ? shift : __PACKAGE__; return $class->new(shift)->default_handler }

sub chdir_file { my ($self, @folder) = @_; return $self->chdir_file_normal(@folder) }

1;

__END__

=head1 NAME

Apache::PerlRun - mod_perl 1's handler that compiles for each request

=head1 SYNOPSIS

    PerlHandler Apache::PerlRun

=head1 DESCRIPTION

The class is a L<ModPerl::PerlRun>. In addition it enters the script's own folder. In the
configuration, its name replaces L<Apache::Registry>.

=head1 METHODS

=over 4

=item handler(R)

Runs the script of a request. Returns a status.

=item chdir_file([FOLDER])

Enters the script's folder. With a FOLDER, it enters the server's folder.

=back

=head1 DIFFERENCES

The server itself does the work of this handler, on the rung C<perlrun> (L<ModPerl::PerlRun>). The
methods are for subclasses.

=head1 SEE ALSO

L<ModPerl::PerlRun>, L<Apache::Registry>.

=cut
