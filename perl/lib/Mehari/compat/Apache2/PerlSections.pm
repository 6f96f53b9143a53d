package Apache2::PerlSections;

# Supports the code of `<Perl>` sections: it has functions for this code, and keeps variables on
# request. Mehari::Configuration runs the sections.

use strict;
use warnings;

our ($Save, $Server);

# The packages whose variables are kept.
my @kept;

# Returns the server that is being configured.
sub server {
    require Apache2::ServerUtil;
    return Apache2::ServerRec->of_number($Mehari::Configuration::server || 0);
}

# Deletes the variables of a section that has run, unless the section asked to keep them.
sub done {
    my ($package) = @_;
    if ($Save || $Apache::Server::SaveConfig) {
        push @kept, $package unless grep { $_ eq $package } @kept;
        return;
    }
    no strict 'refs';
    my $symbols = \%{"${package}::"};
    for my $name (grep { !/::\z/ && ref \$symbols->{$_} eq 'GLOB' } keys %$symbols) {
        my $glob = $symbols->{$name};
        delete $symbols->{$name} unless *{$glob}{CODE};
    }
    return;
}

# Returns the kept variables as Perl code.
sub dump {
    require Data::Dumper;
    local ($Data::Dumper::Indent, $Data::Dumper::Sortkeys) = (1, 1);
    return join '', (map { _written($_) } @kept), "1;\n__END__\n";
}

# store($file) writes the kept variables to a file below ServerRoot.
sub store {
    my ($class, $file) = @_;
    require Apache2::ServerUtil;
    my $path = Apache2::ServerUtil::server_root_relative($file);
    open my $out, '>', $path or die "Apache2::PerlSections->store: $path: $!\n";
    print {$out} $class->dump;
    close $out or die "Apache2::PerlSections->store: $path: $!\n";
    return;
}

sub _written {
    my ($package) = @_;
    no strict 'refs';
    my $symbols = \%{"${package}::"};
    my $text = "\n# $package\n";
    for my $name (sort grep { !/::\z/ && /\A\w+\z/ && ref \$symbols->{$_} eq 'GLOB' } keys %$symbols) {
        my $glob = $symbols->{$name};
        $text .= "\$$name = " . _value(${*$glob}) . ";\n" if defined ${*$glob};
        $text .= "\@$name = \@{" . _value(\@{*$glob}) . "};\n" if *{$glob}{ARRAY} && @{*$glob};
        $text .= "\%$name = \%{" . _value(\%{*$glob}) . "};\n" if *{$glob}{HASH} && %{*$glob};
    }
    return $text;
}

# Returns a value that can be written as Perl code. Code and handles cannot.
sub _value {
    my ($value) = @_;
    local $Data::Dumper::Terse = 1;
    local $Data::Dumper::Deparse = 0;
    my $text = Data::Dumper::Dumper(ref $value eq 'HASH' && tied %$value ? { map { $_ => $value->{$_} } keys %$value } : $value);
    chomp $text;
    return $text;
}

1;

__END__

=head1 NAME

Apache2::PerlSections - Perl sections of the configuration

=head1 SYNOPSIS

    <Perl>
        $ServerAdmin = 'ann@example.org';
        push @PerlModule, 'My::Handler';
        $Location{'/app'} = { SetHandler => 'modperl', PerlResponseHandler => 'My::Handler' };
        $Apache2::PerlSections::Save = 1;
    </Perl>

=head1 DESCRIPTION

The variables of a section become directives. The lines in C<@PerlConfig> and C<$PerlConfig> become
lines of the configuration. A section runs in the site's perl while the configuration is read. It
runs once more in every zygote (the process that loads the modules and forks the workers).

=head1 VARIABLES

=over 4

=item $Apache2::PerlSections::Save

A true value keeps the variables after the section.

=back

=head1 CLASS METHODS

=over 4

=item server

Returns the Apache2::ServerRec that is being configured.

=item dump

Returns the kept variables as Perl code.

=item store(FILE)

Writes the result of C<dump> to a file. A relative name is below ServerRoot. Dies if the file cannot
be written.

=back

=head1 DIFFERENCES

Directives that a section sets by variables are sorted by name. A variable whose value is code, or
another reference that is no directive, is an error in the section.

=head1 SEE ALSO

L<Apache2::ServerUtil>, F<docs/reference/phases.md>.

=cut
