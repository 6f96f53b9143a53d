package ModPerl::RegistryLoader;

# Compiles scripts while the server starts, before the workers are forked.

use strict;
use warnings;
use Carp ();
use Mehari ();

# new(package => 'ModPerl::Registry', debug => 1, trans => sub { my $uri = shift; file })
sub new {
    my ($class, %option) = @_;
    return bless { package => 'ModPerl::Registry', %option }, ref $class || $class;
}

# handler($uri, $filename, $virtual_host) compiles a script. Returns 200, or 500 if it does not
# compile.
sub handler {
    my ($self, $uri, $file) = @_;
    $self = $self->new unless ref $self;
    if (!defined $file) {
        $file = $self->{trans} ? $self->{trans}->($uri) : _below_root($uri);
    }
    Carp::croak("RegistryLoader: $file is no file: give the file name, or trans => sub, for $uri") unless -f $file;
    # A `<Perl>` section also runs in the process that collects its lines. This process runs no
    # scripts.
    return 200 if $Mehari::Configuration::is_read_only_for_its_lines;
    eval { Mehari::compile_script($file); 1 } or do { warn $@; return 500 };
    return 200;
}

sub _below_root {
    my ($uri) = @_;
    require Apache2::ServerUtil;
    return Apache2::ServerUtil::server_root() . $uri;
}

1;

__END__

=head1 NAME

ModPerl::RegistryLoader - compile scripts before the workers start

=head1 SYNOPSIS

    use ModPerl::RegistryLoader ();
    my $loader = ModPerl::RegistryLoader->new(
        trans => sub { my ($uri) = @_; return "/srv/www$uri" });
    # in a start-up file: $loader->handler('/perl/index.pl');

=head1 DESCRIPTION

A script that this class compiles while the server starts is shared by all workers (the processes
that run Perl code).

=head1 METHODS

=over 4

=item new(package => CLASS, trans => CODE)

Makes a loader. CODE gets a URI and returns the file of this URI.

=item handler(URI, [FILE])

Compiles a script. Without a FILE, it asks C<trans> for the file. If there is no C<trans>, it looks
below ServerRoot. Returns 200, or 500 with a warning if the script does not compile. Dies if there
is no file.

=back

=head1 DIFFERENCES

The package and the virtual host have no effect, because the server finds compiled scripts by their
file.

=head1 SEE ALSO

L<ModPerl::Registry>, L<Apache::RegistryLoader>.

=cut
