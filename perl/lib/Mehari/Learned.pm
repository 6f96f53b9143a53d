package Mehari::Learned;

# Loads, for a script's template, the modules that earlier requests of the script have loaded again
# and again. The front knows them from the workers' reports and names them to the next zygote.
# learning.c calls this module in each template.

use strict;
use warnings;
use Mehari::Zygote ();

# By script: the modules' names in %INC, each with its file.
my %modules_of;

# Notes a module for a script. The text is the script's file, the name and the file.
sub note {
    my ($script, $name, $file) = split /\0/, $_[0];
    defined $file && $name =~ m{\A\w+(?:/\w+)*\.pm\z} or die "`$name` is no module of a script\n";
    push @{$modules_of{$script}}, [$name, $file];
}

# Returns the next module to load for a script, or undef. A module that perl would now find at
# another place is not loaded, because the script may get another one by itself.
sub next_for {
    my ($script) = @_;
    while (my $module = shift @{$modules_of{$script} || []}) {
        my ($name, $file) = @$module;
        next if exists $INC{$name} || !Mehari::Zygote::is_standard($file);
        my ($found) = grep { -f } map { ref $_ ? () : "$_/$name" } @INC;
        return $name if defined $found && $found eq $file;
    }
    return undef;
}

# Loads a module in a process that then ends. Returns whether nothing but the module's own packages
# has changed.
sub changes_nothing_else {
    my ($name) = @_;
    require B;
    my $before = _surroundings();
    return load($name) && $before eq _surroundings();
}

sub load {
    my ($name) = @_;
    local ($@, $_, $!);
    package main;
    return eval { require $name; 1 };
}

# What a module can change for the code of others, as a text.
sub _surroundings {
    no strict 'refs';
    my $blocks  = B::end_av();
    my @symbols = grep { !/::\z|\A_</ } keys %main::;
    my @signals = map { "$_=" . ($SIG{$_} // '') } keys %SIG;
    my @files   = do { opendir my $folder, '/proc/self/fd'; grep { /\d/ } readdir $folder };
    return join "\n", map { defined $_ ? $_ : 'undef' } sort(@symbols), sort(@signals), sort(keys %CORE::GLOBAL::), sort(keys %UNIVERSAL::),
        (map { "$_=$ENV{$_}" } sort keys %ENV), @INC, $/, $\, $,, $;, $", $|, $^W, ${^OPEN}, $0, scalar @files,
        $blocks->isa('B::SPECIAL') ? 0 : $blocks->FILL + 1, umask;
}

1;

__END__

=head1 NAME

Mehari::Learned - internal

=head1 DESCRIPTION

This module is internal to the server: it loads the modules that each request of a script would
otherwise load again.

=cut
