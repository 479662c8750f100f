package lab;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.SourceConnector;

/** A source that writes nothing. lab.mode: ok, start-fails, task-start-fails, task-poll-fails, zero-tasks, taskconfigs-fails. */
public final class LabSourceConnector extends SourceConnector {
    private Map<String, String> properties;

    @Override
    public String version() {
        return "lab-1.0";
    }

    @Override
    public void start(Map<String, String> given) {
        properties = given;
        if (mode().equals("start-fails")) {
            throw new ConnectException("lab: connector start refused");
        }
    }

    @Override
    public Class<? extends Task> taskClass() {
        return LabSourceTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int max) {
        List<Map<String, String>> configs = new ArrayList<>();
        if (mode().equals("taskconfigs-fails")) {
            throw new ConnectException("lab: taskConfigs refused");
        }
        for (int i = 0; i < max && !mode().equals("zero-tasks"); i++) {
            configs.add(new HashMap<>(properties));
        }
        return configs;
    }

    @Override
    public void stop() { }

    @Override
    public ConfigDef config() {
        return new ConfigDef()
            .define("lab.mode", ConfigDef.Type.STRING, "ok", ConfigDef.Importance.LOW, "What fails.")
            .define("lab.note", ConfigDef.Type.STRING, "", ConfigDef.Importance.LOW, "Changes the task configurations.");
    }

    private String mode() {
        return properties.getOrDefault("lab.mode", "ok");
    }
}
