package ModPerl::Const;

# mod_perl's constants.

use strict;
use warnings;
use Mehari::Constants ();

Mehari::Constants::define(__PACKAGE__, <<'GROUPS');
common: EXIT=120000
GROUPS

# Programs use the name `ModPerl::EXIT`.
sub ModPerl::EXIT () { 120000 }

sub import { my $class = shift; Mehari::Constants::import_into(__PACKAGE__, scalar caller, @_); return }

# compile(NAMES), or compile(PACKAGE => NAMES) for another package.
sub compile {
    my ($class, @words) = @_;
    my $package = @words > 1 && $words[0] =~ /::/ ? shift @words : undef;
    return defined $package ? Mehari::Constants::import_into(__PACKAGE__, $package, @words) : Mehari::Constants::import_into(__PACKAGE__, undef, -compile => @words);
}

1;
