package Mehari::Absent;

# Methods of mod_perl that cannot exist here. Each dies and names an alternative.

use strict;
use warnings;
use Carp ();

# Mehari::Absent::methods($package, $what, @names)
sub methods {
    my ($package, $what, @names) = @_;
    for my $name (@names) {
        no strict 'refs';
        *{"${package}::$name"} = sub { Carp::croak("${package}::$name: $what") };
    }
    return;
}

1;

__END__

=head1 NAME

Mehari::Absent - internal

=head1 DESCRIPTION

This module is internal to the server. It defines the methods of mod_perl that Mehari cannot have.
Each of them dies and names an alternative.

=cut
