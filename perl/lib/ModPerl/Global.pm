package ModPerl::Global;

# Lists of subs kept by package, as mod_perl keeps END blocks.

use strict;
use warnings;

my %lists;

sub special_list_register { my ($name, $package) = @_; $lists{$name}{$package} ||= []; return 1 }

sub special_list_add { my ($name, $package, @code) = @_; push @{ $lists{$name}{$package} }, @code; return 1 }

sub special_list_call {
    my ($name, $package) = @_;
    my $list = $lists{$name}{$package} or return 0;
    $_->() for @$list;
    return 1;
}

sub special_list_clear { my ($name, $package) = @_; return delete $lists{$name}{$package} ? 1 : 0 }

1;
