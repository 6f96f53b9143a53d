package Mehari::Configuration;

# Runs the Perl in the configuration: `<Perl>` sections and `add_config`.
#
# While the server reads its configuration, a perl process runs `serve`. The process gets the code
# of the sections and returns the configuration lines that the sections make. Each zygote runs the
# same sections again for their other effects.

use strict;
use warnings;

# True in the process that only collects the sections' lines. This process ends when the
# configuration has been read.
our $is_read_only_for_its_lines;

# The lines of `add_config` that `taken` has not returned yet, in order.
my @added;

sub add { push @added, map { split /\n/, $_ } @_; return }

sub taken { my @lines = @added; @added = (); return @lines }

# Runs the code of a section and returns its lines. The section has its own package, as in mod_perl.
# The package is emptied afterwards unless the code sets `$Apache2::PerlSections::Save = 1`.
sub section {
    my ($name, $code, $server) = @_;
    my ($file, $line) = $name =~ /\A(.*):(\d+)\z/s or die "`$name` is not FILE:LINE\n";
    my $package = "Apache2::ReadConfig::" . _package($file) . "::line_$line";
    require Apache2::PerlSections;
    require Apache if $code =~ /\bApache->/; # mod_perl 1 had this class without a `use`
    my %before = map { ($_ => _snapshot($_)) } qw(Apache2::ReadConfig Apache::ReadConfig);
    {
        no strict;
        no warnings;
        local $Mehari::Configuration::server = $server || 0;
        local $0 = $file;
        eval "package $package;\n#line $line \"$file\"\n$code\n;1" or die $@ || "it did not compile\n";
    }
    my @lines = taken();
    for my $source ($package, sort keys %before) {
        push @lines, _directives($source, $before{$source});
    }
    Apache2::PerlSections::done($package);
    return @lines;
}

# Turns a file's path into a part of a package name. Each folder becomes a package.
sub _package {
    my ($file) = @_;
    return join '::', map { s/\W/_/gr } grep { length } split m{/}, $file;
}

# Returns the configuration lines of a package. Every variable is a directive, except that
# $PerlConfig and @PerlConfig hold whole lines.
sub _directives {
    my ($package, $before) = @_;
    my (@lines, @special);
    no strict 'refs';
    my $symbols = \%{"${package}::"};
    for my $name (sort keys %$symbols) {
        next if $name =~ /::\z/ || ref \$symbols->{$name} ne 'GLOB';
        my $glob = $symbols->{$name};
        my $values = _values($glob);
        next if $before && defined $before->{$name} && $before->{$name} eq $values;
        my $into = $name eq 'PerlConfig' ? \@special : \@lines;
        push @$into, $name eq 'PerlConfig' ? _raw($glob) : _of_variables($name, $glob);
    }
    return (@lines, @special);
}

sub _of_variables {
    my ($name, $glob) = @_;
    my @lines;
    push @lines, _entry($name, ${*$glob}) if defined ${*$glob};
    push @lines, map { _entry($name, $_) } @{*$glob} if *{$glob}{ARRAY};
    push @lines, _sections($name, \%{*$glob}) if *{$glob}{HASH};
    return @lines;
}

sub _raw {
    my ($glob) = @_;
    return map { split /\n/, $_ } grep { defined } ${*$glob}, *{$glob}{ARRAY} ? @{*$glob} : ();
}

# Returns the lines of one directive. A list of words makes one line. A list of lists makes one line
# for each inner list.
sub _entry {
    my ($name, $value) = @_;
    my $type = ref $value;
    return ("$name $$value") if $type eq 'SCALAR';
    return _sections($name, $value) if $type eq 'HASH';
    return (grep { ref } @$value) ? (map { _entry($name, $_) } @$value) : "$name @$value" if $type eq 'ARRAY';
    die "the value of $name is a $type, which is no directive\n" if $type;
    return defined $value ? ("$name $value") : ();
}

# Returns the lines of sections such as `%Location`. Each key is the argument of a section. Its
# value is a hash, or a list of hashes with one section each. Other values are not configuration.
sub _sections {
    my ($name, $sections) = @_;
    my @lines;
    for my $place (sort keys %$sections) {
        my $inside = $sections->{$place};
        for my $hash (ref $inside eq 'ARRAY' ? @$inside : ref $inside eq 'HASH' ? $inside : ()) {
            push @lines, "<$name $place>", (map { _entry($_, $hash->{$_}) } sort keys %$hash), "</$name>";
        }
    }
    return @lines;
}

sub _snapshot {
    my ($package) = @_;
    no strict 'refs';
    my $symbols = \%{"${package}::"};
    return { map { ($_ => _values($symbols->{$_})) } grep { !/::\z/ && ref \$symbols->{$_} eq 'GLOB' } keys %$symbols };
}

sub _values {
    my ($glob) = @_;
    require Data::Dumper;
    local ($Data::Dumper::Indent, $Data::Dumper::Sortkeys) = (0, 1);
    return Data::Dumper::Dumper(${*$glob}, *{$glob}{ARRAY} ? \@{*$glob} : undef, *{$glob}{HASH} ? \%{*$glob} : undef);
}

# ---- in the process that runs while the configuration is read ----

my %ERRANDS = (
    module  => sub { my ($name) = @_; require(($name =~ s{::}{/}gr) . '.pm'); return taken() },
    require => sub { my ($file) = @_; package main; require $file; return Mehari::Configuration::taken() },
    section => \&section,
    environment => sub { my %new = @_; @ENV{keys %new} = values %new; return },
    directive => sub { my ($text) = @_; require Mehari::Directives; Mehari::Directives::apply($text); return taken() },
);

# Answers the front's messages until the front closes the connection. A message is a decimal length,
# a newline, and this many bytes: a key of %ERRANDS and its arguments, separated by NUL. The answer
# is `ok` with new directives (`d`) and lines (`l`), or `failed` with the reason.
sub serve {
    require Mehari::Server;
    %Mehari::Server::fact = map { /\A(.*)\z/s } @_, configured => 1;
    @ARGV = ();
    $is_read_only_for_its_lines = 1;
    open my $errands, '<&', \*STDIN  or die "mehari: $!\n";
    open my $answers, '>&', \*STDOUT or die "mehari: $!\n";
    open STDIN,  '<',  '/dev/null' or die "mehari: $!\n";
    open STDOUT, '>&', \*STDERR   or die "mehari: $!\n";
    binmode $_ for $errands, $answers;
    $| = 1;
    @ENV{qw(MOD_PERL MOD_PERL_API_VERSION)} = ('mod_perl/2.0.12', 2);
    require Apache2::ServerUtil;
    while (defined(my $message = _message($errands))) {
        my ($errand, @arguments) = split /\0/, $message, -1;
        my @lines = eval { $ERRANDS{$errand}->(@arguments) };
        my $failed = $@;
        chomp $failed;
        my @defined = Mehari::Directives->can('take_new_directives') ? Mehari::Directives::take_new_directives() : ();
        my $answer = join "\0", $failed ? ('failed', $failed) : ('ok', (map { "d$_" } @defined), (map { "l$_" } @lines));
        utf8::encode($answer) if utf8::is_utf8($answer);
        print {$answers} length($answer), "\n", $answer;
        $answers->flush;
    }
    require POSIX;
    POSIX::_exit(0);
}

# Reads one message. It does not use `readline`, because perl would then add the number of lines
# read to the message of every `die`.
sub _message {
    my ($errands) = @_;
    my ($length, $message, $byte) = ('', '');
    $length .= $byte while sysread($errands, $byte, 1) && $byte ne "\n";
    return undef unless length $length;
    while (length $message < $length) {
        sysread($errands, $message, $length - length $message, length $message) or return undef;
    }
    # The text comes from the server itself, so it is untainted under `PerlSwitches -T`.
    return $message =~ /\A(.*)\z/s ? $1 : undef;
}

1;

__END__

=head1 NAME

Mehari::Configuration - internal

=head1 DESCRIPTION

This module is internal to the server: it runs C<< <Perl> >> sections while the configuration is
read and returns the lines that they make.

=cut
