package ModPerl::Util;

# Provides functions about perl itself: exit, untaint, unload a package.

use strict;
use warnings;
use Mehari ();

our $DEFAULT_UNLOAD_METHOD = 'unload_package_pp';

# exit($status) ends the request and not the worker. Within an `eval` it throws an exception that
# programs may catch, as with mod_perl. perl's own `exit` is no exception, so no `eval` catches it.
sub exit {
    my ($status) = @_;
    my ($depth, $evals) = (0, 0);
    while (my $sub = (caller ++$depth)[3]) { $evals++ if $sub eq '(eval)' && (caller $depth + 1)[3] }
    CORE::exit(defined $status ? $status : 0) unless $evals && $ENV{MOD_PERL};
    require APR::Error;
    my (undef, $file, $line) = caller;
    die APR::Error->new(rc => 120000, func => 'ModPerl::Util::exit', file => $file, line => $line, status => $status);
}

# A worker has one interpreter.
sub current_perl_id { return '0x0' }

sub untaint { ($_[0]) = defined $_[0] ? $_[0] =~ /\A(.*)\z/s : undef; return }

# Deletes the subs and variables of a package, and its entry in %INC. Subs that the package has
# imported still exist in their own packages.
sub unload_package { unload_package_pp(@_) }

sub unload_package_xs { unload_package_pp(@_) }

sub unload_package_pp {
    my ($package) = @_;
    no strict 'refs';
    no warnings qw(redefine once);
    my $stash = \%{"${package}::"};
    my %below = map { /::\z/ ? ($_ => 1) : () } keys %$stash;
    for my $name (keys %$stash) {
        next if $below{$name} || $name =~ /\A__ANON__\z/;
        my $full = "${package}::$name";
        undef &$full if defined &$full && _is_own($package, \&$full);
        close *$full{IO} if ref \$stash->{$name} eq 'GLOB' && *$full{IO} && $name !~ /\ASTD(?:IN|OUT|ERR)\z/;
        delete $stash->{$name};
    }
    my $file = ($package =~ s{::}{/}gr) . '.pm';
    delete $INC{$file};
    require mro;
    mro::method_changed_in($package);
    return;
}

sub _is_own {
    my ($package, $code) = @_;
    require B;
    my $home = B::svref_2object($code)->GV;
    return $home->isa('B::SPECIAL') || $home->STASH->NAME eq $package;
}

1;

__END__

=head1 NAME

ModPerl::Util - functions about the interpreter

=head1 SYNOPSIS

    use ModPerl::Util ();
    ModPerl::Util::unload_package('My::Old');
    my $phase = ModPerl::Util::current_callback();

=head1 DESCRIPTION

Call the functions by their full names: the module exports nothing.

=head1 FUNCTIONS

=over 4

=item exit([STATUS])

Ends the request and not the worker (the process that runs the Perl code). Within an C<eval> it dies
with an L<APR::Error> whose number is C<ModPerl::EXIT>, and the C<eval> catches this error.

=item current_callback

Returns the directive whose handler runs, such as C<PerlResponseHandler>, or undef while the server
starts.

=item current_perl_id

Always returns C<0x0>.

=item untaint(VARIABLE)

Removes the taint from the variable.

=item unload_package(NAME), unload_package_pp(NAME), unload_package_xs(NAME)

Delete the subs and variables of a package, and its entry in C<%INC>. Packages below it stay, and so
do subs that the package has imported.

=back

=head1 DIFFERENCES

The three functions for unloading do the same. perl's own C<exit> does not throw an exception, so no
C<eval> catches it.

=head1 SEE ALSO

L<APR::Error>, L<ModPerl::Const>.

=cut
